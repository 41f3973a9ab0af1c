/** Tests what the command says of bulk grants, on a server in memory and without a terminal. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { formatTime } from "../../packages/cli/src/output.ts";
import { createRowRate } from "../../packages/cli/src/row-rate.ts";
import { run } from "../../packages/cli/src/run.ts";
import { advanceBulkGrant } from "../../src/bulk-grants/use-cases/advance.ts";
import { finishRun, runBlocks } from "../../src/bulk-grants/use-cases/run.ts";
import { formatInstant } from "../../src/platform/words/month.ts";
import { completeCheck, grantRows, submitLines } from "../support/fixtures/bulk-grant-calls.ts";
import { enforceRules } from "../support/fixtures/bulk-rules.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
});
afterAll(() => server.stop());

/** Runs a command line of a caller with these outputs, and returns its exit code. */
function runWith(
  argv: readonly string[],
  stdout: PassThrough,
  stderr: PassThrough,
  stdin = new PassThrough(),
) {
  const { signal } = new AbortController();
  const env = { MEGURI_URL: `http://127.0.0.1:${server.port}`, MEGURI_CALLER: "rin" };
  return run(argv, { stdin, stdout, stderr, env, signal });
}

/** Runs a command line of a caller; what it prints for its reader, and what for people. */
async function meguri(...argv: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runWith(argv, stdout, stderr);
  return { code, stdout: `${stdout.read() ?? ""}`, stderr: `${stderr.read() ?? ""}` };
}

const linesOf = (text: string): string[] => text.trimEnd().split("\n");

test("of a wrong sheet a watch shows the first rows, and nothing acts on a terminal", async () => {
  const bulkGrantId = "a;reboot";
  const wrong = Array.from({ length: 7 }, (_, i) => `\u001b[31mu${i}\u202e,x,`);
  await submitLines(server, { bulkGrantId }, "good,1,", ...wrong);
  await completeCheck(server, bulkGrantId);
  const { code, stderr } = await meguri("bulk", "watch", bulkGrantId);
  expect(code).toBe(1);
  const said = linesOf(stderr);
  expect(said).toHaveLength(10);
  expect(said[1]).toMatch(/^line 3, .*u0.*: USER_MALFORMED: .*; POINTS_MALFORMED: /);
  for (const control of ["\u001b", "\u202e"]) expect(stderr).not.toContain(control);
  expect(said.slice(6)).toEqual([
    "and 2 more rows",
    "7 rows are invalid.",
    "Submit a corrected sheet: meguri bulk submit 'a;reboot' SHEET",
    "Or the same one again: meguri bulk submit 'a;reboot' SHEET --replaced-revision 1",
  ]);
});

test("a check and a summary show warnings of rows", async () => {
  const folder = await mkdtemp(join(tmpdir(), "meguri-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "sheet.csv");
  const lines = ["u1,1,", "TRUE,2,"];
  await writeFile(file, `user_id,points,reason\n${lines.join("\n")}\n`);
  const text =
    "IDS_CHANGED: 1 user id looks changed by a spreadsheet program, such as TRUE; line 3";
  const check = await meguri("bulk", "check", "warned", file);
  expect([check.code, linesOf(check.stderr).slice(-2)]).toEqual([
    0,
    [`WARNING ${text}`, "2 rows, 3 points; nothing is wrong"],
  ]);
  const json = await meguri("bulk", "check", "warned", file, "--json");
  expect(json.stderr).not.toContain("WARNING");
  expect(JSON.parse(json.stdout)).toMatchObject({ sheetWarnings: [{ code: "IDS_CHANGED", text }] });
  await submitLines(server, { bulkGrantId: "warned" }, ...lines);
  await completeCheck(server, "warned");
  expect((await meguri("bulk", "show", "warned")).stdout).toContain(`WARNING\t${text}\n`);
});

test("a sum above the cap is said with the cap", async () => {
  const programId = "capped";
  const bulkRules = { maxTotalPoints: 5n };
  await server.programs.createProgram({ programId, bulkRules });
  await submitLines(server, { programId, bulkGrantId: "much" }, "a,6,");
  await completeCheck(server, "much", programId);
  const { stderr } = await meguri("bulk", "watch", "much", "--program", programId);
  expect(stderr).toContain("The sum is 6 points, and the program allows 5 points.\n");
  expect(stderr).toContain("meguri bulk submit much SHEET --program capped\n");
});

test("a question that goes to a file has no colours", async () => {
  for (const bulkGrantId of ["plain-1", "plain-2"]) {
    await submitLines(server, { bulkGrantId }, "plain,1,");
    await completeCheck(server, bulkGrantId);
  }
  const keyboard = Object.assign(new PassThrough(), { isTTY: true });
  const screen = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  for (const [stderr, start] of [
    [new PassThrough(), ""],
    [screen, "\u001b[31m"],
  ] as const) {
    let printed = "";
    stderr.on("data", (text) => {
      printed += text;
      if (printed.endsWith("[y/N] ")) keyboard.write("n\n");
    });
    expect(await runWith(["bulk", "approve", "plain-2"], new PassThrough(), stderr, keyboard)).toBe(
      1,
    );
    expect(printed).toContain(`\n${start}WARNING `);
    expect(printed.includes("\u001b")).toBe(start !== "");
  }
});

test("who has ended a bulk grant, and why, is said by watch and by the same sheet", async () => {
  const bulkGrantId = "ended";
  const mika = server.clientsOf("mika").bulkGrants;
  await submitLines(server, { bulkGrantId }, "a,1,");
  await completeCheck(server, bulkGrantId);
  await mika.rejectBulkGrant({ bulkGrantId, reason: "wrong month" });
  expect((await meguri("bulk", "watch", bulkGrantId)).stderr).toContain(
    "Rejected by mika (wrong month).\n" +
      "Submit a corrected sheet: meguri bulk submit ended SHEET\n" +
      "Or the same one again: meguri bulk submit ended SHEET --replaced-revision 1\n",
  );
  expect((await meguri("bulk", "show", bulkGrantId)).stdout).toMatch(
    /^action\t\S+\t1\tREJECT\tmika\twrong month$/m,
  );
  await submitLines(server, { bulkGrantId, replacedRevision: 1 }, "a,1,");
  await mika.cancelBulkGrant({ bulkGrantId });
  expect((await meguri("bulk", "show", bulkGrantId)).stderr).toContain("Cancelled by mika.\n");
});

test("of a run that was cancelled, it is said when the count is final", async () => {
  const bulkGrantId = "half";
  const name = { programId: "default", bulkGrantId };
  await submitLines(server, { bulkGrantId }, "a,1,");
  const { digest } = await completeCheck(server, bulkGrantId);
  await server.clientsOf("mika").bulkGrants.approveBulkGrant({ bulkGrantId, digest });
  await advanceBulkGrant(server.deps, name);
  await server.bulkGrants.cancelBulkGrant({ bulkGrantId });
  const { countsFinalTime = 0 } = await finishRun(server.deps, name, 1, async () => {});
  const time = formatTime(timestampFromMs(countsFinalTime));
  const { stdout, stderr } = await meguri("bulk", "show", bulkGrantId);
  expect(stdout).toContain(`fact\tcounts final\t${time}\n`);
  expect(stderr).toContain(
    `The counts are final at ${formatInstant(countsFinalTime, "Asia/Tokyo")}; ` +
      "a row may be granted until then.\n",
  );
});

test("what awaits approval is listed with what it waits for and by whom", async () => {
  await submitLines(server, { bulkGrantId: "waits", title: "夏" }, "a,1,", "b,2,");
  await completeCheck(server, "waits");
  const { stdout } = await meguri("bulk", "list", "--state", "AWAITING_APPROVAL", "--since", "+0s");
  expect(stdout).toBe("");
  const list = await meguri("bulk", "list", "--state", "AWAITING_APPROVAL");
  expect(list.stdout).toMatch(
    /^waits\tAWAITING_APPROVAL\t2\t3\ttests\t\S+\t夏\tWaits for 1 approval until /m,
  );
  const { stdout: shown, stderr } = await meguri("bulk", "show", "waits");
  expect(shown).toMatch(/^fact\tapprovals\t0 of 1$/m);
  expect(shown).toMatch(/^revision\t1\t\S+\ttests\t2\t3\t-\t夏\t-\t-\t-$/m);
  expect(shown).toMatch(/^action\t\S+\t1\tSUBMIT\ttests\t-$/m);
  expect(stderr).toMatch(
    /^Waits for 1 approval until \S+, by anybody but tests: meguri bulk approve waits\n$/,
  );
});

test("stricter rules show in what it waits for", async () => {
  const bulkGrantId = "raised";
  await submitLines(server, { bulkGrantId }, "a,1,");
  const { digest } = await completeCheck(server, bulkGrantId);
  await enforceRules(server.deps, "default", { requiredApprovalCount: 2 });
  await server.clientsOf("mika").bulkGrants.approveBulkGrant({ bulkGrantId, digest });
  await enforceRules(server.deps, "default", { requiredApprovalCount: 1 });
  const { stdout, stderr } = await meguri("bulk", "show", bulkGrantId);
  expect(stdout).toMatch(/^fact\tapprovals\t1 of 2$/m);
  expect(stderr).toContain("Waits for 1 approval until ");
});

test("a diff has the rows that were added, removed and changed", async () => {
  const bulkGrantId = "diff";
  await submitLines(server, { bulkGrantId }, "a,1,", "b,2x,r", "c,3,", "d,4,");
  await completeCheck(server, bulkGrantId);
  await submitLines(server, { bulkGrantId }, "a,1,", "b,2,r", "e,5,new", "d,4,why");
  const { code, stdout, stderr } = await meguri("bulk", "diff", bulkGrantId);
  expect(code).toBe(0);
  expect(linesOf(stdout)).toEqual([
    "changed\tb\t2x\t2\tr\tr\t3",
    "added\te\t-\t5\t-\tnew\t4",
    "changed\td\t4\t4\t-\twhy\t5",
    "removed\tc\t3\t-\t-\t-\t4",
  ]);
  expect(stderr).toBe("from revision 1 to 2: 1 added, 1 removed, 2 changed\n");
  const json = await meguri("bulk", "diff", bulkGrantId, "--from", "2", "--to", "1", "--json");
  expect(JSON.parse(linesOf(json.stdout)[0] ?? "")).toEqual({
    change: "changed",
    userId: "b",
    from: { line: 3, points: "2", reason: "r" },
    to: { line: 3, points: "2x", reason: "r" },
  });
  const unknown = await meguri("bulk", "diff", bulkGrantId, "--to", "7");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("no revision 6")]);
  expect((await meguri("bulk", "diff", bulkGrantId, "--to", "1")).code).toBe(2);
});

test("the same sheet of a run with failures names the retry, of a done one nothing", async () => {
  const bulkGrantId = "20221101_キャンペーン1";
  await submitLines(server, { bulkGrantId }, "cold,1,", "warm,2,");
  await completeCheck(server, bulkGrantId);
  await server.points.freezeAccount({ userId: "cold", eventId: "f" });
  await grantRows(server, bulkGrantId);
  const answer = await meguri("bulk", "reverse", "undo", bulkGrantId, "--force");
  expect(answer.code, answer.stderr).toBe(0);
  expect(answer.stderr).toMatch(/^granted points\t2$/m);
  const watch = await meguri("bulk", "watch", bulkGrantId);
  expect(watch.stderr).toContain(
    "Done, and rows failed: 1 × ACCOUNT_FROZEN.\n" +
      "Run these rows again: meguri bulk retry '20221101_キャンペーン1'\n" +
      "Or correct them: meguri bulk export-failed '20221101_キャンペーン1' > failed.csv, then " +
      "meguri bulk submit '20221101_キャンペーン1' failed.csv\n",
  );
  const { stdout: shown } = await meguri("bulk", "show", bulkGrantId);
  expect(shown).toMatch(/^failed\tACCOUNT_FROZEN\t1$/m);
});

test("what is known of a revision is shown as soon as it is checked", async () => {
  await submitLines(server, { bulkGrantId: "summed" }, "s1,10,sum", "s2,30,sum");
  const early = await meguri("bulk", "show", "summed");
  expect([early.code, early.stdout]).toEqual([0, expect.not.stringMatching(/^summary/m)]);
  await completeCheck(server, "summed");
  const { stdout } = await meguri("bulk", "show", "summed");
  expect(stdout).toMatch(/^summary\tpoints of a row\t10 to 30, median 10$/m);
  expect(stdout).toMatch(/^summary\treason\tsum: 2 rows, 40 points$/m);
  const json = await meguri("bulk", "show", "summed", "--json");
  expect(JSON.parse(json.stdout).summary).toMatchObject({ maxPoints: "30", frozenCount: 0 });
});

test("a reversal waits while the other one is being cancelled, and says for what", async () => {
  const name = { programId: "default", bulkGrantId: "stopped" };
  const { bulkGrantId } = name;
  await submitLines(server, { bulkGrantId }, "stop1,10,", "stop2,20,");
  const { digest } = await completeCheck(server, bulkGrantId);
  await server.clientsOf("mika").bulkGrants.approveBulkGrant({ bulkGrantId, digest });
  await advanceBulkGrant(server.deps, name);
  const reverse = ["bulk", "reverse", "stopped-back", bulkGrantId, "--force"];
  const early = await meguri(...reverse);
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining("or cancel it first")]);
  const range = { ...name, revision: 1, run: 1, from: 0, to: 1 };
  await runBlocks(
    server.deps,
    range,
    () => true,
    () => undefined,
  );
  await server.bulkGrants.cancelBulkGrant({ bulkGrantId });
  const byCall = server.bulkGrants.reverseBulkGrant({
    bulkGrantId: "stopped-back",
    reversedBulkGrantId: bulkGrantId,
  });
  await expect(byCall).rejects.toThrow("is reversed when the rows under way are counted");
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const reversing = runWith(reverse, stdout, stderr);
  await eventually(async () => {
    expect(`${stderr.read() ?? ""}`).toContain("stopped is being cancelled; waits until the rows");
  });
  await finishRun(server.deps, name, 1, async () => {});
  expect([await reversing, `${stdout.read()}`]).toEqual([
    0,
    expect.stringContaining("stopped-back: VALIDATING, revision 1, 2 rows, 30 points"),
  ]);
});

test("a reversal that was rejected is submitted again without a sheet", async () => {
  await submitLines(server, { bulkGrantId: "forth" }, "f1,10,");
  await completeCheck(server, "forth");
  await grantRows(server, "forth");
  await server.bulkGrants.reverseBulkGrant({ bulkGrantId: "back", reversedBulkGrantId: "forth" });
  await completeCheck(server, "back");
  await server.clientsOf("mika").bulkGrants.rejectBulkGrant({ bulkGrantId: "back" });
  const { stderr } = await meguri("bulk", "show", "back");
  expect(linesOf(stderr)).toEqual([
    "Rejected by mika.",
    "Submit it again: meguri bulk reverse back forth --replaced-revision 1",
  ]);
});

test.each([
  {
    sheet: "user_id,points\n",
    encoding: "utf16le",
    says: "cannot be read: line 1: .* UTF-16",
  },
  { sheet: "user_id,points\nd2,2\nd1,1\n", encoding: "utf8", says: "or another order" },
] as const)(
  "a digest says why a sheet is another one: $says",
  async ({ sheet, encoding, says }) => {
    const bulkGrantId = `digest-${encoding}`;
    await submitLines(server, { bulkGrantId }, "d1,1,", "d2,2,");
    const file = join(await mkdtemp(join(tmpdir(), "meguri-digest-")), "sheet.csv");
    onTestFinished(() => rm(dirname(file), { recursive: true }));
    await writeFile(file, sheet, encoding);
    const { code, stderr } = await meguri("bulk", "digest", bulkGrantId, file);
    expect([code, stderr]).toEqual([1, expect.stringMatching(says)]);
  },
);

test("a watch on a terminal says how fast the rows of a run are done", async () => {
  const bulkGrantId = "fast";
  await submitLines(server, { bulkGrantId }, "fast-1,1,", "fast-2,2,");
  await completeCheck(server, bulkGrantId);
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 100 });
  let printed = "";
  terminal.on("data", (text) => {
    printed += text;
  });
  const watch = runWith(["bulk", "watch", bulkGrantId], terminal, new PassThrough());
  await eventually(async () => expect(printed).toContain("AWAITING_APPROVAL"));
  await grantRows(server, bulkGrantId);
  expect(await watch).toBe(0);
  expect(printed).toMatch(/2 of 2 rows, 0 failed, \d+\.\d rows\/s, 0 s left, DONE/);
});

test("the rate of a run looks back for half a minute", () => {
  const rateOf = createRowRate();
  expect(rateOf(0, 1_000, 0)).toEqual({});
  expect(rateOf(100, 1_000, 2_000)).toEqual({ rowsPerSecond: 50, secondsLeft: 18 });
  expect(rateOf(400, 1_000, 32_000)).toEqual({ rowsPerSecond: 10, secondsLeft: 60 });
  expect(rateOf(0, 10, 40_000)).toEqual({});
});
