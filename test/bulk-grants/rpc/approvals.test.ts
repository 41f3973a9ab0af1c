/** Tests what people do with bulk grants: approve, reject, cancel, pause, retry and reverse. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BulkGrant_Action_Type as ActionType,
  type BulkGrant,
  BulkGrantRow_State as RowState,
  BulkGrant_State as State,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import {
  completeCheck,
  completeRun,
  sheet,
  submitLines,
  uploadCsv,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import {
  type Clients,
  type MemoryServer,
  startMemoryServer,
} from "../../support/servers/server.ts";

let server: MemoryServer;
let [ann, ben, cho]: Clients[] = [];
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-11-01T00:00:00Z") });
  [ann, ben, cho] = ["ann", "ben", "cho"].map(server.clientsOf);
  await enforceRules(server.deps, "default", {
    tiers: [{ maxTotalPoints: 100, requiredApprovalCount: 1 }],
    requiredApprovalCount: 2,
  });
});
afterAll(() => server.stop());

/** A bulk grant of these lines, submitted by ann, that awaits approval. */
async function awaiting(bulkGrantId: string, ...lines: string[]): Promise<BulkGrant> {
  await submitLines(ann as Clients, { bulkGrantId }, ...lines);
  return completeCheck(server, bulkGrantId);
}

const run = (bulkGrantId: string) => completeRun(server, bulkGrantId);

const get = async (bulkGrantId: string) =>
  (await server.bulkGrants.getBulkGrant({ bulkGrantId })).bulkGrant as BulkGrant;

const approve = (clients: Clients | undefined, { bulkGrantId, digest }: BulkGrant, reason = "") =>
  (clients as Clients).bulkGrants.approveBulkGrant({ bulkGrantId, digest, reason });

describe("an approval", () => {
  test("by another person approves what was checked", async () => {
    const before = await awaiting("approved", "u1,5,", "u2,7,");
    expect(before).toMatchObject({ state: State.AWAITING_APPROVAL, requiredApprovalCount: 1 });
    const { bulkGrant } = await approve(ben, before, "looks right");
    expect(bulkGrant?.state).toBe(State.APPROVED);
    expect(bulkGrant?.approvals).toMatchObject([
      { caller: asService("ben"), reason: "looks right" },
    ]);
    expect(bulkGrant?.actions.map(({ type, caller }) => [type, caller?.subject])).toEqual([
      [ActionType.SUBMIT, "ann"],
      [ActionType.APPROVE, "ben"],
    ]);
    expect((await approve(ben, before)).bulkGrant).toEqual(bulkGrant);
  });

  test("is not enough where two are needed, even twice by one person", async () => {
    const before = await awaiting("two", "u1,50,", "u2,51,");
    expect(before.requiredApprovalCount).toBe(2);
    for (let i = 0; i < 2; i++) {
      const { bulkGrant } = await approve(ben, before);
      expect(bulkGrant).toMatchObject({
        state: State.AWAITING_APPROVAL,
        approvals: [{ caller: asService("ben") }],
      });
    }
    expect(await reasonOf(approve(ann, before))).toBe("SELF_APPROVAL");
    expect((await approve(cho, before)).bulkGrant?.state).toBe(State.APPROVED);
  });

  test("of another revision is refused by its digest", async () => {
    const first = await awaiting("revised", "u1,5,");
    await ben?.bulkGrants.rejectBulkGrant({ bulkGrantId: "revised", reason: "too little" });
    const second = await awaiting("revised", "u1,6,");
    expect([second.revision, second.state]).toEqual([2, State.AWAITING_APPROVAL]);
    expect(await refusalOf(approve(ben, first))).toMatchObject({
      reason: "DIGEST_MISMATCH",
      metadata: { revision: "2" },
    });
    expect((await approve(ben, second)).bulkGrant?.state).toBe(State.APPROVED);
  });

  test("and a rejection with a digest are about the revision that was read", async () => {
    const first = await awaiting("reread", "u1,5,");
    await ben?.bulkGrants.rejectBulkGrant({ bulkGrantId: "reread", digest: first.digest });
    const second = await awaiting("reread", "u1,6,");
    const reject = (digest: string) =>
      (ben as Clients).bulkGrants.rejectBulkGrant({ bulkGrantId: "reread", digest });
    expect(await reasonOf(reject("short"))).toBe("INVALID_REQUEST");
    expect(await refusalOf(reject(first.digest))).toMatchObject({
      reason: "DIGEST_MISMATCH",
      metadata: { revision: "2" },
    });
    expect((await reject(second.digest)).bulkGrant?.state).toBe(State.REJECTED);
    expect((await reject(second.digest)).bulkGrant?.state).toBe(State.REJECTED);
    expect(await reasonOf(reject(first.digest))).toBe("DIGEST_MISMATCH");
  });

  test("holds for the rows that were approved: no changed row replaces one", async () => {
    const before = await awaiting("fixed", "u1,5,", "u2,7,");
    await approve(ben, before);
    const changed = uploadCsv(ann as Clients, { bulkGrantId: "fixed" }, sheet("u1,5,", "u2,8,"));
    expect(await refusalOf(changed)).toMatchObject({
      reason: "WRONG_STATE",
      metadata: { state: "APPROVED" },
    });
    const same = await uploadCsv(ann as Clients, { bulkGrantId: "fixed" }, sheet("u1,5,", "u2,7,"));
    expect([same.replayed, same.bulkGrant?.state]).toEqual([true, State.APPROVED]);
  });
});

test("each change is refused in a wrong state and for an unknown bulk grant", async () => {
  const before = await awaiting("states", "u1,5,");
  const { bulkGrants } = ben as Clients;
  const bulkGrantId = "states";
  await bulkGrants.rejectBulkGrant({ bulkGrantId, reason: "no" });
  const rejected = await get(bulkGrantId);
  expect(rejected.state).toBe(State.REJECTED);
  const calls = (id: string) => [
    bulkGrants.approveBulkGrant({ bulkGrantId: id, digest: before.digest }),
    bulkGrants.cancelBulkGrant({ bulkGrantId: id }),
    bulkGrants.pauseBulkGrant({ bulkGrantId: id }),
    bulkGrants.retryBulkGrant({ bulkGrantId: id }),
  ];
  const wrong = await Promise.all(calls(bulkGrantId).map(reasonOf));
  expect(new Set(wrong)).toEqual(new Set(["WRONG_STATE"]));
  await bulkGrants.resumeBulkGrant({ bulkGrantId });
  expect(await get(bulkGrantId)).toEqual(rejected);
  const unknown = [
    ...calls("none"),
    bulkGrants.rejectBulkGrant({ bulkGrantId: "none" }),
    bulkGrants.resumeBulkGrant({ bulkGrantId: "none" }),
    bulkGrants.getBulkGrant({ bulkGrantId: "none" }),
    bulkGrants.listBulkGrantRows({ bulkGrantId: "none" }),
    bulkGrants.reverseBulkGrant({ bulkGrantId: "r", reversedBulkGrantId: "none" }),
  ];
  const reasons = new Set(await Promise.all(unknown.map(reasonOf)));
  expect(reasons).toEqual(new Set(["BULK_GRANT_NOT_FOUND"]));
});

test("a pause and a cancellation say who, when and why", async () => {
  const before = await awaiting("stopped", "u1,5,");
  await approve(ben, before);
  const { bulkGrants } = cho as Clients;
  const bulkGrantId = "stopped";
  const paused = await bulkGrants.pauseBulkGrant({ bulkGrantId, reason: "wait" });
  expect(paused.bulkGrant?.pause).toMatchObject({
    type: ActionType.PAUSE,
    caller: asService("cho"),
    reason: "wait",
    revision: 1,
  });
  const resumed = await bulkGrants.resumeBulkGrant({ bulkGrantId });
  expect(resumed.bulkGrant?.pause).toBeUndefined();
  const cancelled = await bulkGrants.cancelBulkGrant({ bulkGrantId, reason: "over" });
  expect(cancelled.bulkGrant?.state).toBe(State.CANCELLED);
  expect(cancelled.bulkGrant?.actions.at(-1)).toMatchObject({
    caller: asService("cho"),
    reason: "over",
  });
  expect(cancelled.bulkGrant?.endTime).toBeDefined();
});

describe("a run with a failure", () => {
  const bulkGrantId = "run";

  test("names the failed rows and counts them by code", async () => {
    const before = await awaiting(bulkGrantId, "good,5,", "cold,7,thanks");
    await server.points.freezeAccount({ userId: "cold", eventId: "freeze" });
    await approve(ben, before);
    expect(await run(bulkGrantId)).toMatchObject({
      state: State.DONE_WITH_FAILURES,
      result: {
        grantedCount: 1,
        grantedPoints: 5n,
        failedCount: 1,
        notRunCount: 0,
        problemCounts: [{ code: "ACCOUNT_FROZEN", rowCount: 1 }],
      },
    });
    const { progress } = await server.bulkGrants.getBulkGrant({ bulkGrantId });
    expect(progress).toMatchObject({ grantedCount: 1, grantedPoints: 5n, failedCount: 1 });
    const { rows } = await server.bulkGrants.listBulkGrantRows({
      bulkGrantId,
      state: RowState.FAILED,
    });
    expect(rows).toMatchObject([
      { line: 3, userId: "cold", problems: [{ line: 3, userId: "cold", code: "ACCOUNT_FROZEN" }] },
    ]);
  });

  test("is retried after the cause is gone", async () => {
    await server.points.unfreezeAccount({ userId: "cold", eventId: "unfreeze" });
    const { bulkGrant } = await server.bulkGrants.retryBulkGrant({ bulkGrantId });
    expect([bulkGrant?.state, bulkGrant?.run]).toEqual([State.RUNNING, 2]);
    expect(await run(bulkGrantId)).toMatchObject({
      state: State.DONE,
      result: { grantedCount: 2 },
    });
  });

  test("is reversed by another bulk grant, which is approved like any other", async () => {
    const reverse = (reason = "") =>
      (ann as Clients).bulkGrants.reverseBulkGrant({
        bulkGrantId: "undo",
        reversedBulkGrantId: bulkGrantId,
        reason,
      });
    const first = await reverse("a mistake");
    expect(first.bulkGrant).toMatchObject({ reversedBulkGrantId: bulkGrantId, rowCount: 2 });
    expect(first.bulkGrant?.actions).toMatchObject([{ reason: "a mistake" }]);
    expect((await reverse()).replayed).toBe(true);
    const before = await completeCheck(server, "undo");
    expect(await reasonOf(approve(ann, before))).toBe("SELF_APPROVAL");
    await approve(ben, before);
    expect(await run("undo")).toMatchObject({ state: State.DONE, result: { grantedPoints: 12n } });
    for (const userId of ["good", "cold"]) {
      expect((await server.points.getBalance({ userId })).balance?.availablePoints).toBe(0n);
    }
    const twice = server.bulkGrants.reverseBulkGrant({
      bulkGrantId: "redo",
      reversedBulkGrantId: "undo",
    });
    expect((await refusalOf(twice)).fields).toEqual(["reversed_bulk_grant_id"]);
  });
});
