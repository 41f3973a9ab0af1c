/** Tests through gRPC that other people have to approve changes of bulk rules. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Program,
  type Program_BulkRulesSchema,
  Program_RulesChange_State as State,
} from "../../../../src/gen/meguri/programs/v1/program_pb.ts";
import { getProgram, readWaitingRules } from "../../../../src/points/use-cases/programs/queries.ts";
import { eventually } from "../../../support/fixtures/waiting.ts";
import { reasonOf } from "../../../support/servers/refusal.ts";
import { type Clients, startServer, type TestServer } from "../../../support/servers/server.ts";
import { type SlackServer, startSlackServer } from "../../../support/servers/slack-server.ts";

let server: TestServer;
let slack: SlackServer;
let [ann, ben, cho]: Clients[] = [];
beforeAll(async () => {
  slack = await startSlackServer();
  const env = { MEGURI_SLACK_WEBHOOK_URL: slack.webhookUrl };
  server = await startServer({ testClock: false, env });
  [ann, ben, cho] = ["ann", "ben", "cho"].map(server.clientsOf);
});
afterAll(async () => {
  await server.stop();
  await slack.stop();
});

type Rules = MessageInitShape<typeof Program_BulkRulesSchema>;

let programs = 0;

/** A program of its own that begins with these rules. */
async function begin(bulkRules: Rules): Promise<string> {
  const programId = `p-${++programs}`;
  await server.programs.createProgram({ programId, bulkRules });
  return programId;
}

const get = async (programId: string): Promise<Program> =>
  (await server.programs.getProgram({ programId })).program as Program;

async function propose(by: Clients | undefined, programId: string, bulkRules: Rules) {
  const { etag } = await get(programId);
  const answer = await by?.programs.updateProgram({ program: { programId, bulkRules, etag } });
  return answer?.program?.rulesChange;
}

const approve = async (by: Clients | undefined, programId: string, digest = "", reason = "") =>
  (await by?.programs.approveRulesChange({ programId, digest, reason }))?.program;

const reject = async (by: Clients | undefined, programId: string, digest = "") =>
  (await by?.programs.rejectRulesChange({ programId, digest, reason: "no" }))?.program;

const two = { requiredApprovalCount: 2, loweringDelay: { seconds: 0n } };

describe("a change of the rules", () => {
  test("is pending until as many others as the strictest tier needs have approved it", async () => {
    const programId = await begin(two);
    const bulkRules = { ...two, tiers: [{ maxTotalPoints: 9n, requiredApprovalCount: 0 }] };
    const wanted = { bulkRules, notices: { expiryDays: 7, reservedGrants: false } };
    const { program } = await (ann as Clients).programs.updateProgram({
      program: { programId, lifetimeMonths: 24, ...wanted },
      reason: "spring",
    });
    expect(program).toMatchObject({ lifetimeMonths: 12, bulkRules: { tiers: [] } });
    expect(program?.notices).toBeUndefined();
    const change = program?.rulesChange;
    expect(change).toMatchObject({
      ...{ number: 1n, state: State.PROPOSED, delayed: true, requiredApprovalCount: 2 },
      ...{ proposer: { subject: "ann" }, reason: "spring" },
      previousRules: { lifetimeMonths: 12, bulkRules: { tiers: [] } },
      rules: { lifetimeMonths: 24, ...wanted },
    });
    for (const proposer of [ann, server.clientsOf("ANN")]) {
      expect(await reasonOf(approve(proposer, programId, change?.digest))).toBe("SELF_APPROVAL");
    }
    const [once] = [await approve(ben, programId, change?.digest, "agreed")];
    expect(once?.rulesChange).toMatchObject({ state: State.PROPOSED });
    expect(await approve(ben, programId, change?.digest)).toEqual(once);
    expect((await get(programId)).bulkRules).toMatchObject({ tiers: [] });
    const done = await approve(cho, programId, change?.digest);
    expect(done).toMatchObject({ lifetimeMonths: 24, ...wanted });
    const { time } = done?.rulesChange?.approvals[1] ?? {};
    const longer = Number(done?.lifetimeChanges[1]?.effectiveTime?.seconds);
    expect(longer).toBe(Number(time?.seconds) + 18 * 60);
    expect(done?.rulesChange).toMatchObject({
      ...{ state: State.IN_FORCE, effectiveTime: time },
      approvals: [{ caller: { subject: "ben" }, reason: "agreed" }, { caller: { subject: "cho" } }],
    });
    expect(await get(programId)).toEqual(done);
  });

  test.each([
    ["lowers the rules for bulk grants", { bulkRules: { ...two, requiredApprovalCount: 1 } }],
    ["lengthens the lifetime", { lifetimeMonths: 24 }],
  ])("that %s has its last approval an hour later; one person can end it", async (_, wanted) => {
    const programId = await begin({ requiredApprovalCount: 1 });
    const { program: proposed } = await (ann as Clients).programs.updateProgram({
      program: { programId, ...wanted },
    });
    const change = proposed?.rulesChange;
    const { proposeTime, finalApprovalTime } = change ?? {};
    expect(Number(finalApprovalTime?.seconds) - Number(proposeTime?.seconds)).toBe(3_600);
    expect(await reasonOf(approve(ben, programId, change?.digest))).toBe("WRONG_STATE");
    expect(await get(programId)).toEqual(proposed);
    const rejected = await reject(cho, programId, change?.digest);
    expect(rejected?.rulesChange).toMatchObject({
      state: State.REJECTED,
      end: { caller: { subject: "cho" }, reason: "no" },
    });
    expect(await reject(cho, programId, change?.digest)).toEqual(rejected);
  });

  test("is replaced by a later proposal, and an approval names exactly one", async () => {
    const programId = await begin(two);
    const first = await propose(ann, programId, { ...two, maxPointsPerRow: 7n });
    await approve(ben, programId, first?.digest);
    const second = await propose(cho, programId, { ...two, maxPointsPerRow: 8n });
    expect(second).toMatchObject({ number: 2n, approvals: [] });
    expect(await reasonOf(approve(ann, programId, first?.digest))).toBe("DIGEST_MISMATCH");
    expect(await reasonOf(reject(ann, programId, first?.digest))).toBe("DIGEST_MISMATCH");
    // The same rules again are the same proposal.
    expect(await propose(ann, programId, { ...two, maxPointsPerRow: 8n })).toEqual(second);
    const rejected = await reject(ann, programId, second?.digest);
    expect(rejected?.rulesChange).toMatchObject({ state: State.REJECTED });
    expect(await reasonOf(approve(ben, programId, second?.digest))).toBe("WRONG_STATE");
  });

  test("is replaced by nobody who has not seen it, nor by an update that is repeated", async () => {
    const programId = await begin(two);
    const update = (by: Clients | undefined, changes: object, etag = "") =>
      (by as Clients).programs.updateProgram({ program: { programId, ...changes, etag } });
    const older = { lifetimeMonths: 18 };
    await update(ann, older);
    const { etag } = await get(programId);
    const proposed = await update(ben, { lifetimeMonths: 24 }, etag);
    // The answer to the older update was lost, and Cho knows of neither.
    expect(await reasonOf(update(ann, older))).toBe("ETAG_MISMATCH");
    expect(await reasonOf(update(ann, older, etag))).toBe("ETAG_MISMATCH");
    expect(await reasonOf(update(cho, { notices: { expiryDays: 7 } }))).toBe("ETAG_MISMATCH");
    expect(await update(ann, { lifetimeMonths: 24 })).toEqual(proposed);
    // What is no rule changes nothing of it.
    const spread = await update(cho, { reservationShardCount: 64 });
    expect(spread.program).toMatchObject({
      reservationShardCount: 64,
      rulesChange: { number: 2n, state: State.PROPOSED },
    });
    const limited = await update(cho, { balanceLimits: { below: [500n, 100n], above: [0n] } });
    expect(limited.program).toMatchObject({
      balanceLimits: { below: [100n, 500n], above: [0n] },
      rulesChange: { number: 2n, state: State.PROPOSED },
    });
  });

  test("needs nobody where the strictest tier does not", async () => {
    const programId = await begin({ requiredApprovalCount: 0 });
    const change = await propose(ann, programId, { requiredApprovalCount: 0, sources: ["n", "a"] });
    expect(change).toMatchObject({ state: State.IN_FORCE, requiredApprovalCount: 0 });
    expect((await get(programId)).bulkRules?.sources).toEqual(["a", "n"]);
  });
});

describe("at the same time", () => {
  test("two approvals put a change in force, and a third is refused", async () => {
    const programId = await begin(two);
    const change = await propose(server, programId, { ...two, maxPointsPerRow: 7n });
    const by = [ann, ben, cho];
    const results = await Promise.all(
      by.map((person) => approve(person, programId, change?.digest).catch(() => "refused")),
    );
    expect(results.filter((each) => each === "refused")).toHaveLength(1);
    expect(await get(programId)).toMatchObject({ bulkRules: { maxPointsPerRow: 7n } });
  });

  test("of an approval and a proposal that names the same etag one is refused", async () => {
    const programId = await begin({ ...two, requiredApprovalCount: 1 });
    const first = await propose(ann, programId, { requiredApprovalCount: 1, maxPointsPerRow: 7n });
    const { etag } = await get(programId);
    const bulkRules = { requiredApprovalCount: 1, maxPointsPerRow: 8n };
    const isDone = (call: Promise<unknown> | undefined) =>
      (call as Promise<unknown>).then(
        () => true,
        () => false,
      );
    const [approved, replaced] = await Promise.all([
      isDone(approve(ben, programId, first?.digest)),
      isDone(ann?.programs.updateProgram({ program: { programId, bulkRules, etag } })),
    ]);
    expect(approved).toBe(!replaced);
    const { bulkRules: rules, rulesChange } = await get(programId);
    expect(rulesChange?.number).toBe(approved ? 1n : 2n);
    expect(rules?.maxPointsPerRow).toBe(approved ? 7n : 1_000_000_000n);
  });
});

test("the history has all changes, the latest first: who, when, from and to", async () => {
  const programId = await begin(two);
  const rules = (maxPointsPerRow: bigint) => ({ ...two, maxPointsPerRow });
  await propose(ann, programId, rules(7n));
  const second = await propose(ben, programId, rules(8n));
  await reject(cho, programId, second?.digest);
  const third = await propose(ann, programId, rules(9n));
  const pages = [];
  let pageToken = "";
  do {
    const answer = await server.programs.listRulesChanges({
      ...{ programId, pageSize: 3, pageToken },
    });
    pages.push(answer.rulesChanges);
    pageToken = answer.nextPageToken;
  } while (pageToken !== "");
  const listed = pages.flat();
  expect(pages[0]).toHaveLength(3);
  expect(listed[0]).toEqual(third);
  expect(
    listed.map(({ number, state, proposer, end }) => [
      ...[number, state, proposer?.subject, end?.caller?.subject],
    ]),
  ).toEqual([
    [3n, State.PROPOSED, "ann", undefined],
    [2n, State.REJECTED, "ben", "cho"],
    [1n, State.REPLACED, "ann", "ben"],
    [0n, State.IN_FORCE, "tests", undefined],
  ]);
  expect(await reasonOf(server.programs.listRulesChanges({ programId: "none" }))).toBe(
    "PROGRAM_NOT_FOUND",
  );
});

test("a proposed change waits for people until it is approved or ended", async () => {
  const proposed = await begin(two);
  const change = await propose(ann, proposed, { ...two, maxPointsPerRow: 7n });
  const stored = [proposed, await begin(two)].map((id) => getProgram(server.deps, id));
  const waiting = async () => readWaitingRules(server.deps, await Promise.all(stored));
  await eventually(async () => expect((await waiting()).oldestMs).toBeGreaterThan(0));
  expect((await waiting()).count).toBe(1);
  await reject(cho, proposed, change?.digest);
  expect(await waiting()).toEqual({ count: 0, oldestMs: 0 });
});

test("a program is created once with its rules, and again only with the same", async () => {
  const programId = await begin(two);
  await propose(ann, programId, { ...two, maxPointsPerRow: 7n });
  const create = async (bulkRules?: Rules) =>
    (await server.programs.createProgram({ programId, ...(bulkRules && { bulkRules }) })).replayed;
  expect([await create(two), await create()]).toEqual([true, true]);
  expect(await reasonOf(create({ requiredApprovalCount: 0 }))).toBe("ID_REUSED");
});

test("Slack hears what becomes of a change, from the server that was called", async () => {
  const programId = await begin({ requiredApprovalCount: 1 });
  const texts = () => slack.messages.filter((text) => text.includes(programId));
  const stricter = { requiredApprovalCount: 1, maxPointsPerRow: 9n };
  const change = await propose(ann, programId, stricter);
  await eventually(async () => expect(texts()).toHaveLength(1));
  await approve(ben, programId, change?.digest);
  await approve(ben, programId, change?.digest);
  await eventually(async () => expect(texts()).toHaveLength(2));
  const next = await propose(ann, programId, { ...stricter, sources: ["nightly"] });
  await eventually(async () => expect(texts()).toHaveLength(3));
  await reject(cho, programId, next?.digest);
  await eventually(async () => expect(texts()).toHaveLength(4));
  await propose(ann, programId, { ...stricter, sources: ["hourly"] });
  await eventually(async () => expect(texts()).toHaveLength(5));
  await propose(ben, programId, { ...stricter, sources: ["daily"] });
  await eventually(async () => expect(texts()).toHaveLength(7));
  const titles = texts().map((text) => text.split("\n")[0]);
  expect(titles.slice(0, 5)).toEqual([
    "*New rules await approval*",
    "*New rules are in force*",
    "*New rules await approval*",
    "*New rules are rejected*",
    "*New rules await approval*",
  ]);
  expect(titles.slice(5).sort()).toEqual([
    "*New rules are replaced*",
    "*New rules await approval*",
  ]);
  const replaced = texts().find((text) => text.startsWith("*New rules are replaced*"));
  expect(replaced).toMatch(/Change 3 of .*Ended by .*ben/s);
});

test("Slack shows all that differs, and from when on the last approval is accepted", async () => {
  const programId = await begin({ requiredApprovalCount: 1 });
  const notices = { expiryDays: 7, reservedGrants: true };
  const bulkRules = {
    requiredApprovalCount: 2,
    userIdPattern: "<a>[0-9]+",
    refusedWarnings: ["POINTS_ZERO", "IDS_CHANGED"],
  };
  await ann?.programs.updateProgram({
    program: { programId, lifetimeMonths: 24, notices, bulkRules },
    reason: "<!channel> spring",
  });
  const text = () => slack.messages.find((message) => message.includes(programId)) ?? "";
  await eventually(async () => expect(text()).not.toBe(""));
  const lines = text().split("\n").slice(2, -1);
  expect(lines).toEqual([
    "Before: points live for 12 months",
    "After: points live for 24 months",
    "Before: members hear of expiry never; of reserved grants never",
    "After: members hear of expiry 7 days before; of reserved grants each time",
    expect.stringMatching(/^Before: .*; approvals 1; .*; user ids of any form; .* none$/),
    expect.stringMatching(
      /^After: .*; approvals 2; .*; user ids `&lt;a&gt;.*`; refused .* IDS_CHANGED, POINTS_ZERO$/,
    ),
    expect.stringMatching(/^Proposed by ann.*&lt;!channel&gt; spring/),
    "0 of 1 approval",
  ]);
  expect(text()).toMatch(/\nThe last one is accepted from <!date\^/);
});
