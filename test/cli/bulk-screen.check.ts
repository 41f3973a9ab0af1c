/** Reads what approvers read on a terminal of 80 columns and 24 lines, and gives every answer. */
import { stripVTControlCharacters } from "node:util";
import { create } from "@bufbuild/protobuf";
import { spawn } from "@lydell/node-pty";
import { BulkGrantSchema, BulkGrant_State as State } from "@meguri/client/bulk-grants";
import stringWidth from "string-width";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { decisionText } from "../../packages/cli/src/bulk-text.ts";
import { completeCheck, grantRows, submitLines } from "../support/fixtures/bulk-grant-calls.ts";
import { codeNamed, projectRoot } from "../support/markdown.ts";
import { installedCommand, plain } from "../support/servers/cli.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

interface Terminal {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What happens before the reason is typed. */
  readonly onReason?: () => Promise<void>;
}

/** Runs a command on a terminal and answers its questions, one after the other. */
async function converse(
  args: readonly string[],
  answers: readonly string[],
  { columns = 80, rows = 24, env = {}, onReason = async () => {} }: Terminal = {},
) {
  const { NO_COLOR: _, ...inherited } = process.env;
  const url = `http://127.0.0.1:${server.port}`;
  const pty = spawn(process.execPath, [installedCommand, ...args], {
    ...{ cwd: projectRoot, cols: columns, rows },
    env: { ...inherited, TZ: "Asia/Tokyo", MEGURI_URL: url, MEGURI_CALLER: "mika", ...env },
  });
  let raw = "";
  let asked = 0;
  const left = [...answers];
  pty.onData((data) => {
    raw += data;
    if (!/(\[y\/N\]|Enter:|Why\?) $/.test(plain(raw.slice(asked)))) return;
    asked = raw.length;
    const answer = left.shift();
    if (answer === undefined) return;
    if (plain(raw).endsWith("Why? ")) void onReason().then(() => pty.write(answer));
    else pty.write(answer);
  });
  let hasEnded = false;
  onTestFinished(() => {
    if (!hasEnded) pty.kill("SIGKILL");
  });
  const code = await new Promise<number>((resolve) => {
    pty.onExit(({ exitCode }) => resolve(exitCode));
  });
  hasEnded = true;
  return { code, raw, printed: plain(raw) };
}

/** Submits rows as aoi, and checks them. */
async function awaiting(bulkGrantId: string, title: string, ...lines: string[]): Promise<void> {
  await submitLines(server.clientsOf("aoi"), { bulkGrantId, title }, ...lines);
  await completeCheck(server, bulkGrantId);
}

const read = async (bulkGrantId: string) =>
  (await server.bulkGrants.getBulkGrant({ bulkGrantId })).bulkGrant;

/** 300 members with a gift for their birthday; three members get more. */
const birthdays = Array.from(
  { length: 300 },
  (_, i) => `member-${i},${i < 3 ? 1_000 : 250},誕生日 ${(i % 31) + 1}`,
);

const withoutTimes = (text: string): string =>
  text.replace(/\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d/g, "TIME");

const approve = ["bulk", "approve", "summer-2027"];

test("the first screen fits a terminal, and the page for staff shows it as it is", async () => {
  await awaiting("spring-2027", "春のご愛顧", ...birthdays.slice(0, 40));
  await grantRows(server, "spring-2027");
  await awaiting("summer-2027", "夏のご愛顧", ...birthdays.slice(0, 298));
  await server.bulkGrants.rejectBulkGrant({ bulkGrantId: "summer-2027" });
  await awaiting("summer-2027", "夏のご愛顧", ...birthdays);
  const { code, raw, printed } = await converse(approve, ["n\n"]);
  expect(code).toBe(1);
  const screen = printed.slice(0, printed.indexOf(" n\n"));
  const lines = screen.split("\n");
  // One more line has the command that was typed.
  expect(lines.length).toBeLessThanOrEqual(23);
  for (const line of lines) expect(stringWidth(line), line).toBeLessThanOrEqual(80);
  expect(lines.at(-1)).toBe(
    "Grant 77,250 points to 300 members for 夏のご愛顧, submitted by aoi? [y/N]",
  );
  expect(lines.join("\n")).toContain("誕生日 # (31 reasons), 300 rows, 77,250 points");
  const red = raw.split("\r\n").filter((line) => line.startsWith("\u001b[31m"));
  expect(red.map(stripVTControlCharacters).join("\n")).toMatch(
    /^WARNING +40 of 300 users are in spring-2027 as well (.|\n)*40 with the same points$/,
  );
  for (const page of ["docs/grant/bulk-grants.md", "docs/grant/bulk-grants.ja.md"]) {
    const shown = codeNamed(page, "approval").replace(/^\$ .*\n/, "");
    expect(withoutTimes(shown), page).toBe(`${withoutTimes(screen)}\n`);
  }
});

test("lists and facts of bulk grants are readable in 80 columns", async () => {
  const { printed: list } = await converse(["bulk", "list"], []);
  expect(list).toMatch(/^summer-2027 +AWAITING_APPROVAL +300 +77250 +aoi$/m);
  expect(list).toMatch(/^ {2}\d{4}-\S+ +夏のご愛顧 +Waits for 1 approval until /m);
  const { raw, printed } = await converse(["bulk", "show", "summer-2027"], []);
  const facts = printed.slice(0, printed.indexOf("Waits for")).split("\n");
  for (const line of facts) expect(stringWidth(line), line).toBeLessThanOrEqual(80);
  expect(printed).not.toMatch(/ +-$/m);
  expect(raw).toContain("\u001b[31mWARNING ");
});

test("d shows everything, and the question comes again", async () => {
  const { code, printed } = await converse(approve, ["d\n", "D\r", "nonsense\n"]);
  expect(code).toBe(1);
  expect(printed.split("[y/N] ")).toHaveLength(4);
  const [, details = ""] = printed.split("[y/N] ");
  expect(details).toMatch(/^state +AWAITING_APPROVAL$/m);
  expect(details).toMatch(/^compared with +1 other bulk grant$/m);
  expect(details).toMatch(/\nWARNING (.|\n)*\nGrant 77,250 points to 300 members/);
  expect(printed).toMatch(/not approved\n$/);
});

test("a low terminal has the facts and the warnings, and says how much more there is", async () => {
  const { printed } = await converse(approve, ["n\n"], { rows: 16 });
  const lines = printed.slice(0, printed.indexOf(" n\n")).split("\n");
  expect(lines.length).toBeLessThanOrEqual(15);
  expect(printed).toMatch(/^changes +2 users added, /m);
  expect(printed).toMatch(/\n\d more lines: answer d\nWARNING /);
  expect(printed).not.toMatch(/^largest rows/m);
});

test.each([
  ["NO_COLOR", { env: { NO_COLOR: "1" } }],
  ["a narrow terminal", { columns: 50, env: { NO_COLOR: "1" } }],
])("with %s there are no colours, and no line is too wide", async (_, terminal) => {
  const { raw, printed } = await converse(approve, ["n\n"], terminal);
  expect(raw).not.toContain("\u001b");
  const lines = printed.slice(0, printed.lastIndexOf("Grant ")).split("\n");
  const { columns = 80 } = terminal as Terminal;
  for (const line of lines) expect(stringWidth(line), line).toBeLessThanOrEqual(columns);
});

test("long titles, reasons and names are whole above the question, and cut in it", async () => {
  const title = "感謝".repeat(16);
  const reason = "ご来店 ".repeat(12);
  const bulkGrantId = `long-${"x".repeat(100)}`;
  const submitter = server.clientsOf(`service-${"n".repeat(50)}`);
  await submitLines(submitter, { bulkGrantId, title }, `u1,1,${reason}`);
  await completeCheck(server, bulkGrantId);
  const { printed } = await converse(["bulk", "approve", bulkGrantId], ["n\n"]);
  const joined = printed.replace(/\n +/g, "");
  expect(joined).toContain(title);
  expect(joined).toContain(bulkGrantId);
  expect(joined.replaceAll(" ", "")).toContain(reason.replaceAll(" ", ""));
  expect(printed).toContain(
    `Grant 1 point to 1 member for ${"感謝".repeat(9)}感…, submitted by service-${"n".repeat(31)}…? `,
  );
  const lines = printed.slice(0, printed.indexOf("Grant ")).split("\n");
  for (const line of lines) expect(stringWidth(line), line).toBeLessThanOrEqual(80);
});

test("a question names what is left to grant, and lets no name act on the terminal", () => {
  const bulkGrant = create(BulkGrantSchema, {
    ...{ bulkGrantId: "b", title: "a\u001b[2J\u202eb" },
    ...{ rowCount: 300, totalPoints: 75_150n },
    ...{ alreadyGrantedCount: 299, alreadyGrantedPoints: 75_149n },
    submitter: { service: "batch", subject: "aoi\n" },
  });
  expect(decisionText(bulkGrant, "approve")).toBe(
    "Grant 1 point to 1 member for a\ufffd[2J\ufffdb, submitted by aoi\ufffd via batch",
  );
  expect(decisionText(bulkGrant, "reject")).toMatch(/^Reject 1 point to 1 member for /);
  const reversal = { ...bulkGrant, reversedBulkGrantId: "spring" };
  expect(decisionText(reversal, "reject")).toMatch(
    /^Reject taking back up to 1 point of spring from 1 member for /,
  );
});

test("a request is shown and asked as what it is, with every user id whole", async () => {
  const userId = `m-${"x".repeat(126)}`;
  const reason = "お届けの遅れ".repeat(7);
  await server.clientsOf("aoi").bulkGrants.requestGrant({
    ...{ bulkGrantId: "request", userId, points: 1_500n, reason },
  });
  await completeCheck(server, "request");
  const { printed } = await converse(["bulk", "approve", "request"], ["n\n"]);
  const joined = printed.replace(/\n +/g, "");
  expect(joined).toMatch(new RegExp(`^request +Grant 1,500 points to ?${userId}$`, "m"));
  expect(joined).toMatch(new RegExp(`^reason +${reason}$`, "m"));
  expect(printed).not.toMatch(/^(in all|points of a row|largest rows|compared with) /m);
  const cut = `${"お届けの遅れ".repeat(3)}お…`;
  expect(printed).toContain(`Grant 1,500 points to ${userId} for ${cut}, requested by aoi? [y/N] `);
  const { printed: rejecting } = await converse(["bulk", "reject", "request"], ["n\n"]);
  expect(rejecting).toContain("Reject the request: Grant 1,500 points to ");
  await server.points.grantPoints({ userId: "ben", eventId: "order-17", points: 5n });
  await server.clientsOf("aoi").bulkGrants.requestRevoke({
    ...{ bulkGrantId: "back", userId: "ben", grantEvent: { eventId: "order-17" } },
  });
  await completeCheck(server, "back");
  const { printed: revoking } = await converse(["bulk", "approve", "back"], ["n\n"]);
  expect(revoking).toContain("Revoke up to 5 points of ben, of order-17, requested by aoi? [y/N] ");
});

test("a revision that comes while a person reads is not rejected unseen", async () => {
  await awaiting("replaced", "", "replaced,1,");
  const revise = async () => {
    await server.bulkGrants.rejectBulkGrant({ bulkGrantId: "replaced" });
    await awaiting("replaced", "", "replaced,2,");
  };
  const { code, printed } = await converse(
    ["bulk", "reject", "replaced"],
    ["y\n", "wrong month\n"],
    { onReason: revise },
  );
  expect([code, printed]).toEqual([1, expect.stringContaining("DIGEST_MISMATCH")]);
  expect(await read("replaced")).toMatchObject({ revision: 2, state: State.AWAITING_APPROVAL });
});

test.each([
  { typed: "a note", answers: ["y\n", " looks right \n"], code: 0, reason: "looks right" },
  { typed: "no note", answers: ["YES\r", "\r"], code: 0, reason: "" },
  {
    typed: "notes that are refused, then a right one",
    answers: ["y\n", `${"長".repeat(43)}\n`, "a\u001b[D\n", "合計を確認\n"],
    code: 0,
    reason: "合計を確認",
  },
  { typed: "Ctrl-C instead of a note", answers: ["y\n", "half\u0003"], code: 130 },
  { typed: "Ctrl-D instead of a note", answers: ["y\n", "\u0004"], code: 1 },
  { typed: "Ctrl-D after half a note", answers: ["y\n", "half\u0004\u0004"], code: 1 },
])("an approval takes $typed", async ({ typed, answers, code, reason }) => {
  const bulkGrantId = typed.replaceAll(" ", "-").replace(",", "");
  await awaiting(bulkGrantId, "", `${bulkGrantId},1,`);
  const ended = await converse(["bulk", "approve", bulkGrantId], answers);
  expect(ended.code, ended.printed).toBe(code);
  const approvals = (await read(bulkGrantId))?.approvals.map((approval) => approval.reason);
  expect(approvals).toEqual(reason === undefined ? [] : [reason]);
  if (answers.length > 2) {
    expect(ended.printed).toContain("it has 129 bytes, and at most 128 are kept\n");
    expect(ended.printed).toContain("it has characters that move the cursor");
  }
});

test.each([
  { typed: "a reason", answers: ["y\n", "wrong month\n"], code: 0 },
  { typed: "a reason only", answers: ["y\n", "\n", "  \r", "wrong month\n"], code: 0 },
  { typed: "no yes", answers: ["d\n", "n\n"], code: 1 },
  { typed: "no reason", answers: ["y\n", "\n", "\u0004"], code: 1 },
  { typed: "no Ctrl-C", answers: ["y\n", "\u0003"], code: 130 },
])("a rejection takes $typed", async ({ typed, answers, code }) => {
  const bulkGrantId = `reject-${typed.replaceAll(" ", "-")}`;
  await awaiting(bulkGrantId, "秋", `${bulkGrantId},1,`);
  const { printed, ...ended } = await converse(["bulk", "reject", bulkGrantId], answers);
  expect(ended.code, printed).toBe(code);
  expect(printed).toContain("Reject 1 point to 1 member for 秋, submitted by aoi? [y/N] ");
  if (answers.includes("\n")) expect(printed).toContain("a reason is needed\n");
  const bulkGrant = await read(bulkGrantId);
  expect(bulkGrant?.state).toBe(code === 0 ? State.REJECTED : State.AWAITING_APPROVAL);
  if (code === 0) expect(bulkGrant?.actions.at(-1)?.reason).toBe("wrong month");
});

test("a rejection with its reason asks nothing, and neither does what does not wait", async () => {
  await awaiting("refused", "", "refused,1,");
  const reject = ["bulk", "reject", "refused"];
  const { code, printed } = await converse([...reject, "--reason", "wrong month"], []);
  expect([code, printed]).toEqual([0, expect.not.stringContaining("[y/N]")]);
  const again = await converse(reject, ["y\n"]);
  expect([again.code, again.printed]).toEqual([1, expect.not.stringContaining("[y/N]")]);
  expect(again.printed).toContain("a bulk grant that is REJECTED waits for no approval\n");
});
