/** Tests through gRPC which submissions the tiers count, and what stricter rules do meanwhile. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { toView } from "../../../activities/bulk-grants/bulk-grant-view.ts";
import { advanceBulkGrant } from "../../../src/bulk-grants/use-cases/advance.ts";
import { finishRun } from "../../../src/bulk-grants/use-cases/run.ts";
import {
  type BulkGrant,
  BulkGrant_State as State,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  completeCheck,
  completeRun,
  submitLines,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import {
  type Clients,
  type MemoryServer,
  startMemoryServer,
} from "../../support/servers/server.ts";

let server: MemoryServer;
let [ann, ben, cho]: Clients[] = [];
let sheets = 0;
beforeAll(async () => {
  server = await startMemoryServer();
  [ann, ben, cho] = ["ann", "ben", "cho"].map(server.clientsOf);
});
afterAll(() => server.stop());

/** Each test has a program of its own, whose last digit names its users. */
let programId: string;
const tiers = [
  { maxTotalPoints: 100, requiredApprovalCount: 0 },
  { maxTotalPoints: 300, requiredApprovalCount: 1 },
];
beforeEach(async () => {
  sheets += 1;
  programId = `p-${sheets}`;
  await server.programs.createProgram({ programId });
  await enforceRules(server.deps, programId, { tiers, requiredApprovalCount: 2 });
});

const submit = (bulkGrantId: string, ...lines: string[]): Promise<BulkGrant> =>
  submitLines(ann as Clients, { programId, bulkGrantId }, ...lines);

const needed = async (bulkGrantId: string, points: number): Promise<number> =>
  (await submit(bulkGrantId, `u-${bulkGrantId},${points},`)).requiredApprovalCount;

test("sheets just below a tier are one sheet above it", async () => {
  expect(await needed("a", 99)).toBe(0);
  expect(await needed("b", 99)).toBe(1);
  expect(await needed("c", 99)).toBe(1);
  expect(await needed("d", 99)).toBe(2);
  // What two people approve counts under no tier, and one point is still left without anybody.
  expect(await needed("e", 1)).toBe(0);
  // The same sheet again is the same one.
  expect(await needed("a", 99)).toBe(0);
});

test("of sheets that come at once, no more than the tier allows need nobody", async () => {
  const all = ["a", "b", "c", "d", "e", "f"];
  const counts = await Promise.all(all.map((bulkGrantId) => needed(bulkGrantId, 60)));
  expect(counts.toSorted()).toEqual([0, 1, 1, 1, 1, 2]);
});

test("an invalid or rejected sheet leaves room, and a corrected one is counted once", async () => {
  await submit("wrong", "u,60,", "u,40,");
  expect((await completeCheck(server, "wrong", programId)).state).toBe(State.INVALID);
  expect(await submit("wrong", "u,60,", "v,40,")).toMatchObject({ requiredApprovalCount: 0 });
  expect((await completeCheck(server, "wrong", programId)).state).toBe(State.APPROVED);
  expect(await needed("next", 200)).toBe(1);
  const waiting = await completeCheck(server, "next", programId);
  await ben?.bulkGrants.rejectBulkGrant({ programId, bulkGrantId: waiting.bulkGrantId });
  expect(await needed("other", 200)).toBe(1);
});

test("a corrected sheet needs nobody where all that is granted is within the tier", async () => {
  await submit("nightly", "u-1,60,", "u-2,40,");
  await completeCheck(server, "nightly", programId);
  await server.points.freezeAccount({ programId, userId: "u-2", eventId: "frozen" });
  const { state, result } = await completeRun(server, "nightly", programId);
  expect([state, result?.grantedPoints]).toEqual([State.DONE_WITH_FAILURES, 60n]);
  // A retry could still grant all of it.
  expect(await needed("before", 1)).toBe(1);
  await submit("nightly", "u-1,60,", "u-3,40,");
  expect(await completeCheck(server, "nightly", programId)).toMatchObject({
    ...{ state: State.APPROVED, requiredApprovalCount: 0, alreadyGrantedCount: 1 },
  });
  await completeRun(server, "nightly", programId);
  expect(await needed("after", 1)).toBe(1);
});

test("of a run that was cancelled before any grant, nothing counts once replaced", async () => {
  for (const user of ["u-1", "u-2", "u-3"]) {
    expect(await submit("again", `${user},100,`)).toMatchObject({ requiredApprovalCount: 0 });
    await completeCheck(server, "again", programId);
    const name = { programId, bulkGrantId: "again" };
    const { run } = (await advanceBulkGrant(server.deps, name)).bulkGrant;
    await ann?.bulkGrants.cancelBulkGrant(name);
    await finishRun(server.deps, name, run, async () => {});
    expect(await needed(`other-${user}`, 1)).toBe(1);
  }
});

test("a reversal is decided by its own total, however much is counted", async () => {
  for (const bulkGrantId of ["one", "two"]) {
    await submit(bulkGrantId, "u-1,40,");
    await completeCheck(server, bulkGrantId, programId);
  }
  await completeRun(server, "one", programId);
  const lower = [{ maxTotalPoints: 50, requiredApprovalCount: 0 }];
  await enforceRules(server.deps, programId, { tiers: lower });
  const reversal = { programId, bulkGrantId: "back", reversedBulkGrantId: "one" };
  await ann?.bulkGrants.reverseBulkGrant(reversal);
  expect((await completeCheck(server, "back", programId)).state).toBe(State.APPROVED);
});

test("rules that became stricter while a sheet waited hold for it", async () => {
  await needed("a", 200);
  const { digest } = await completeCheck(server, "a", programId);
  await enforceRules(server.deps, programId, { requiredApprovalCount: 2 });
  const approve = async (clients: Clients | undefined) =>
    (await clients?.bulkGrants.approveBulkGrant({ programId, bulkGrantId: "a", digest }))
      ?.bulkGrant;
  expect(await approve(ben)).toMatchObject({
    ...{ state: State.AWAITING_APPROVAL, requiredApprovalCount: 1, raisedApprovalCount: 2 },
  });
  const waiting = await advanceBulkGrant(server.deps, { programId, bulkGrantId: "a" });
  const beside = {
    ...{ counts: undefined, failedLines: [], summary: undefined, timeZone: "UTC" },
    ...{ pointsExpireTime: undefined, invalidCounts: {} },
  };
  expect(toView(waiting, beside)).toMatchObject({
    details: expect.stringContaining("Waits for 1 approval"),
    facts: expect.arrayContaining(["- approvals: 1 of 2"]),
  });
  expect(await approve(cho)).toMatchObject({ state: State.APPROVED });
});
