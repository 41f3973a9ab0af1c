/** Answers every question of the command on a terminal: each answer ends it, with its exit code. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { BulkGrant_State as State } from "@meguri/client/bulk-grants";
import { Program_RulesChange_State as ChangeState } from "@meguri/client/programs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completeCheck, grantRows, submitLines } from "../support/fixtures/bulk-grant-calls.ts";
import { type CommandLine, startCommandLine, typeInTerminal } from "../support/servers/cli.ts";
import { type MemoryServer, startMemoryServer } from "../support/servers/server.ts";

let server: MemoryServer;
/** A process for the questions whose answers need none of their own, which takes long to start. */
let meguri: CommandLine;
beforeAll(async () => {
  server = await startMemoryServer();
  meguri = await startCommandLine("terminal", { MEGURI_URL: `http://127.0.0.1:${server.port}` });
});
afterAll(async () => {
  await meguri?.close();
  await server.stop();
});

const ids = Array.from({ length: 100 }, (_, i) => `asked-${i}`);

/** A command that asks: what has to be there, its arguments, and what a yes has changed. */
interface Prompt {
  readonly name: string;
  /** What is typed after a yes, where it asks for a reason, too. */
  readonly reason?: string;
  prepare(id: string): Promise<unknown>;
  args(id: string): readonly string[];
  isDone(id: string): Promise<boolean>;
}

const prompts: readonly Prompt[] = [
  ...(["approve", "reject"] as const).map(
    (verb): Prompt => ({
      name: `bulk ${verb}`,
      reason: verb === "approve" ? "\n" : "wrong month\n",
      async prepare(bulkGrantId) {
        await submitLines(server, { bulkGrantId }, `${bulkGrantId},1,`);
        await completeCheck(server, bulkGrantId);
      },
      args: (id) => ["bulk", verb, id],
      async isDone(bulkGrantId) {
        const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId });
        return bulkGrant?.state === (verb === "approve" ? State.APPROVED : State.REJECTED);
      },
    }),
  ),
  {
    name: "bulk reverse",
    async prepare(bulkGrantId) {
      await submitLines(server, { bulkGrantId }, `${bulkGrantId},1,`);
      await completeCheck(server, bulkGrantId);
      await grantRows(server, bulkGrantId);
    },
    args: (id) => ["bulk", "reverse", `${id}-back`, id],
    isDone: (id) =>
      server.bulkGrants.getBulkGrant({ bulkGrantId: `${id}-back` }).then(
        () => true,
        () => false,
      ),
  },
  ...(["approve", "reject"] as const).map(
    (verb): Prompt => ({
      name: `program ${verb}`,
      reason: verb === "approve" ? "\n" : "too high\n",
      async prepare(programId) {
        await server.programs.createProgram({ programId });
        const bulkRules = { requiredApprovalCount: 2 };
        const { programs } = server.clientsOf("mika");
        await programs.updateProgram({ program: { programId, bulkRules } });
      },
      args: (id) => ["program", verb, id],
      async isDone(programId) {
        const { program } = await server.programs.getProgram({ programId });
        const done = verb === "approve" ? ChangeState.IN_FORCE : ChangeState.REJECTED;
        return program?.rulesChange?.state === done;
      },
    }),
  ),
  {
    name: "reservation cancel-many",
    async prepare(userId) {
      const executeTime = timestampFromDate(new Date("2030-12-24T00:00Z"));
      const reservation = { userId, reservationId: userId, points: 30n, executeTime };
      await server.reservations.createReservation(reservation);
    },
    args: (id) => ["reservation", "cancel-many", "--user", id],
    async isDone(reservationId) {
      const { reservation } = await server.reservations.getReservation({ reservationId });
      return reservation?.lastChange !== undefined;
    },
  },
];

/** What is typed, and how the command ends: by an exit code, or by a signal. */
interface Answer {
  readonly answer: string;
  readonly keys: string;
  readonly code: number;
  readonly signal?: number;
}

const answers: readonly Answer[] = [
  { answer: "y", keys: "y\n", code: 0 },
  { answer: "n", keys: "n\n", code: 1 },
  { answer: "Ctrl-C", keys: "\u0003", code: 130 },
];

const otherAnswers: readonly Answer[] = [
  { answer: "yes", keys: "Yes\r", code: 0 },
  { answer: "an empty line", keys: "\r", code: 1 },
  { answer: "another word", keys: "yup はい \u001b[A\n", code: 1 },
  { answer: "Ctrl-D", keys: "\u0004", code: 1 },
  { answer: "Ctrl-D after half a line", keys: "y\u0004\u0004", code: 1 },
  { answer: "a terminal that is closed", keys: "close", code: 0, signal: 1 },
];

/** Answers a question in the process that runs all commands. */
async function answer(argv: readonly string[], keys: string) {
  const asking = meguri.start(...argv);
  const isAsked = asking.printed("[y/N] ").then(() => true);
  if (await Promise.race([isAsked, asking.done.then(() => false)])) asking.type(keys);
  const { code, stdout } = await asking.done;
  return { code, printed: stdout };
}

/** Answers a question in a process of its own, whose end the shell sees. */
function answerAlone(argv: readonly string[], keys: string) {
  const env = { ...process.env, MEGURI_URL: `http://127.0.0.1:${server.port}` };
  return typeInTerminal(argv, env, /\[y\/N\] $/, keys);
}

// One function asks all questions, so the other answers are tried on the first one only, and only
// there each answer has a process of its own. Ctrl-C ends the process, so it always has one.
describe.each(prompts)("the question of $name", ({ name, reason, prepare, args, isDone }) => {
  const isFirst = name === prompts[0]?.name;
  const tried = isFirst ? [...answers, ...otherAnswers] : answers;
  test.each(tried)("is answered by $answer", async ({ keys, code, signal }) => {
    const id = ids.pop() ?? "";
    await prepare(id);
    const inProcess = !isFirst && code !== 130;
    const isYes = /^y(es)?[\r\n]/i.test(keys);
    const typed = isYes ? `${keys}${reason ?? ""}` : keys;
    const { printed, ...ended } = await (inProcess ? answer : answerAlone)(args(id), typed);
    expect(ended, printed).toEqual(inProcess ? { code } : { code, signal });
    expect(await isDone(id)).toBe(isYes);
  });
});

test("a revision that comes while a person reads is not approved", async () => {
  const bulkGrantId = "changed";
  await submitLines(server, { bulkGrantId }, "a,1,");
  await completeCheck(server, bulkGrantId);
  const env = { ...process.env, MEGURI_URL: `http://127.0.0.1:${server.port}` };
  const approve = ["bulk", "approve", bulkGrantId];
  const ended = await typeInTerminal(approve, env, /\[y\/N\] $/, async () => {
    await server.bulkGrants.rejectBulkGrant({ bulkGrantId });
    await submitLines(server, { bulkGrantId }, "a,1000,");
    await completeCheck(server, bulkGrantId);
    return "y\n\n";
  });
  expect(ended.code, ended.printed).toBe(1);
  expect(ended.printed).toContain("meguri: DIGEST_MISMATCH: ");
  expect(ended.printed).toContain("Repeat the command to see what it is now.");
  const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId });
  expect(bulkGrant?.approvals).toEqual([]);
});

test("warnings are right above the question, which names a reversal", async () => {
  const approve = (id: string) => answer(["bulk", "approve", id], "n\n");
  for (const bulkGrantId of ["first", "again"]) {
    await submitLines(server, { bulkGrantId }, "w1,7,", "w2,8,");
    await completeCheck(server, bulkGrantId);
    if (bulkGrantId === "first") await grantRows(server, bulkGrantId);
  }
  const question = "Grant 15 points to 2 members for again, submitted by tests? [y/N] ";
  const { printed } = await approve("again");
  expect(printed.slice(0, printed.indexOf(question))).toMatch(
    /\nWARNING [^\n]* first as well [^\n]*(\n {2,}[^\n]*)*\n$/,
  );
  await server.bulkGrants.reverseBulkGrant({ bulkGrantId: "undo", reversedBulkGrantId: "first" });
  await completeCheck(server, "undo");
  expect((await approve("undo")).printed).toContain(
    "Take back up to 15 points of first from 2 members for undo, submitted by tests? [y/N] ",
  );
});

test("nobody is asked about what cannot be approved", async () => {
  await submitLines(server, { bulkGrantId: "wrong" }, "a,x,");
  const approve = () => answer(["bulk", "approve", "wrong"], "y\n");
  const early = await approve();
  expect([early.code, early.printed]).toEqual([1, expect.not.stringContaining("[y/N]")]);
  expect(early.printed).toContain("The rows are being checked: meguri bulk watch wrong\n");
  await completeCheck(server, "wrong");
  const { code, printed } = await approve();
  expect([code, printed]).toEqual([1, expect.not.stringContaining("[y/N]")]);
  expect(printed).toContain("a bulk grant that is INVALID waits for no approval\n");
  expect(printed).toContain("Submit a corrected sheet: meguri bulk submit wrong SHEET\n");
});

test("rules are shown with all that changes; nobody is asked once they are decided", async () => {
  const programId = "ruled";
  const { programs } = server.clientsOf("mika");
  await server.programs.createProgram({ programId });
  const notices = { expiryDays: 7, reservedGrants: false };
  const bulkRules = { requiredApprovalCount: 2 };
  const wanted = { programId, lifetimeMonths: 24, notices, bulkRules };
  const { program } = await programs.updateProgram({ program: wanted, reason: "spring" });
  const early = await answer(["program", "approve", programId], "y\nas agreed\n");
  const shown = early.printed;
  expect(shown).toMatch(/before .*"lifetimeMonths":12,"notices":\{"expiryDays":0,.*"bulkRules":/);
  expect(shown).toMatch(/after .*"lifetimeMonths":24,"notices":\{"expiryDays":7,.*"bulkRules":/);
  expect(shown).toMatch(/\nneeded +1\n/);
  expect(shown).toContain(
    "Approve change 1 of ruled (lifetimeMonths, notices, bulkRules), proposed by mika? [y/N] ",
  );
  expect(shown).toMatch(/\nlast approval from +\d{4}-/);
  expect([early.code, shown]).toEqual([
    1,
    expect.stringContaining("its last approval is accepted"),
  ]);
  const { digest = "" } = program?.rulesChange ?? {};
  await programs.rejectRulesChange({ programId, digest });
  for (const verb of ["approve", "reject"]) {
    const { code, printed } = await answer(["program", verb, programId], "y\n");
    expect([code, printed]).toEqual([1, expect.not.stringContaining("[y/N]")]);
    expect(printed).toContain(`nothing to ${verb}: rules of ruled: change 1 is REJECTED`);
  }
});

test.each([
  { end: "Ctrl-D", keys: "user_id,points\nalice,5\n\u0004", code: 0 },
  { end: "Ctrl-D after half a line", keys: "user_id,points\nalice,5\u0004\u0004", code: 0 },
  { end: "Ctrl-D at once", keys: "\u0004", code: 1 },
  { end: "Ctrl-C", keys: "user_id,points\nalice\u0003", code: 130 },
])("a sheet that is typed ends by $end, and so does the command", async ({ keys, code }) => {
  const env = { ...process.env, MEGURI_URL: `http://127.0.0.1:${server.port}` };
  const check = ["bulk", "check", "typed", "-"];
  const ended = await typeInTerminal(check, env, /Ctrl-D ends it/, keys);
  expect(ended.code, ended.printed).toBe(code);
});
