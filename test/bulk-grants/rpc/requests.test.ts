/** Tests through gRPC what RequestGrant and RequestRevoke do for one user, with the approvals. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type BulkGrant,
  BulkGrant_Request_Operation as Operation,
  BulkGrant_State as State,
} from "../../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import {
  EventOrigin,
  LedgerEntry_Type as Type,
} from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import {
  completeCheck,
  completeRun,
  submitLines,
} from "../../support/fixtures/bulk-grant-calls.ts";
import { enforceRules } from "../../support/fixtures/bulk-rules.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import {
  type Clients,
  type MemoryServer,
  startMemoryServer,
} from "../../support/servers/server.ts";

let server: MemoryServer;
let [support, lead]: Clients[] = [];
let programs = 0;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.clock.setTime({ time: at("2026-11-10T12:00:00+09:00") });
  [support, lead] = ["support", "lead"].map(server.clientsOf);
});
afterAll(() => server.stop());

let programId: string;
beforeEach(async () => {
  programs += 1;
  programId = `p-${programs}`;
  await server.programs.createProgram({ programId });
  await enforceRules(server.deps, programId, {
    maxTotalPoints: 5_000,
    tiers: [{ maxTotalPoints: 500, requiredApprovalCount: 0 }],
    requiredApprovalCount: 1,
  });
});

const aoi = { userId: "aoi", reason: "late parcel", cause: "ticket-7" };

const requestGrant = (bulkGrantId: string, points: number, more: object = {}) =>
  (support as Clients).bulkGrants.requestGrant({
    ...{ programId, bulkGrantId, ...aoi, points: BigInt(points) },
    ...more,
  });

const requestRevoke = (bulkGrantId: string, eventId: string, more: object = {}) =>
  (support as Clients).bulkGrants.requestRevoke({
    ...{ programId, bulkGrantId, ...aoi, grantEvent: { eventId } },
    ...more,
  });

const approve = async ({ bulkGrantId, digest }: BulkGrant, by = lead) =>
  (await (by as Clients).bulkGrants.approveBulkGrant({ programId, bulkGrantId, digest })).bulkGrant;

const checked = (bulkGrantId: string) => completeCheck(server, bulkGrantId, programId);
const ran = (bulkGrantId: string) => completeRun(server, bulkGrantId, programId);

async function lastEntry(userId = "aoi") {
  const { entries } = await server.points.listLedgerEntries({
    ...{ programId, userId, newestFirst: true, pageSize: 1 },
  });
  return entries[0];
}

const granted = (eventId: string, points: number, userId = "aoi") =>
  server.points.grantPoints({ programId, userId, eventId, points: BigInt(points) });

describe("RequestGrant", () => {
  test("grants at once within the tier that needs nobody, and says what it is", async () => {
    const { bulkGrant, replayed } = await requestGrant("r-1", 500, { expireMonth: "2026-12" });
    expect(replayed).toBe(false);
    expect(bulkGrant).toMatchObject({
      ...{ state: State.VALIDATING, rowCount: 1, totalPoints: 500n, requiredApprovalCount: 0 },
      request: {
        ...{ operation: Operation.GRANT, userId: "aoi", points: 500n, reason: "late parcel" },
        text: "Grant 500 points to aoi",
      },
    });
    expect(bulkGrant?.request?.grantEvent).toBeUndefined();
    expect((await checked("r-1")).state).toBe(State.APPROVED);
    expect(await ran("r-1")).toMatchObject({
      ...{ state: State.DONE, details: ["Done: 500 points were granted."] },
    });
    expect(await lastEntry()).toMatchObject({
      ...{ type: Type.ISSUED, points: 500n, reason: "late parcel", cause: "ticket-7" },
      caller: { service: "support", subject: "support" },
      event: { origin: EventOrigin.BULK_GRANT, eventId: "r-1_aoi" },
    });
    const { revisions } = await server.bulkGrants.listBulkGrantRevisions({
      ...{ programId, bulkGrantId: "r-1" },
    });
    expect(revisions).toMatchObject([{ request: { text: "Grant 500 points to aoi" } }]);
  });

  test("waits above the tier for another person, in the list of bulk grants", async () => {
    await requestGrant("r-1", 501);
    const waiting = await checked("r-1");
    const { bulkGrants } = await server.bulkGrants.listBulkGrants({
      ...{ programId, state: State.AWAITING_APPROVAL },
    });
    expect(bulkGrants).toMatchObject([{ bulkGrantId: "r-1", request: { userId: "aoi" } }]);
    expect(await reasonOf(approve(waiting, support))).toBe("SELF_APPROVAL");
    expect(await approve(waiting)).toMatchObject({ state: State.APPROVED });
    expect(await ran("r-1")).toMatchObject({ state: State.DONE });
  });

  test("counts under the tiers of the day with sheets", async () => {
    await submitLines(server, { programId, bulkGrantId: "sheet" }, "ben,400,");
    expect(await requestGrant("r-1", 100)).toMatchObject({
      bulkGrant: { requiredApprovalCount: 0 },
    });
    expect(await requestGrant("r-2", 1, { userId: "chika" })).toMatchObject({
      bulkGrant: { requiredApprovalCount: 1 },
    });
  });

  test("is one request however often it is sent, and its id takes no other one", async () => {
    await requestGrant("r-1", 501);
    expect(await requestGrant("r-1", 501)).toMatchObject({ replayed: true });
    for (const more of [
      { userId: "ben" },
      { points: 502n },
      { reason: "" },
      { cause: "" },
      { expireMonth: "2026-12" },
    ]) {
      expect(await reasonOf(requestGrant("r-1", 501, more))).toBe("ID_REUSED");
    }
    await server.bulkGrants.rejectBulkGrant({
      ...{ programId, bulkGrantId: (await checked("r-1")).bulkGrantId },
    });
    // A request that was rejected is not asked again by its id, with other points or the same.
    expect(await reasonOf(requestGrant("r-1", 400))).toBe("ID_REUSED");
    expect(await requestGrant("r-1", 501)).toMatchObject({
      ...{ replayed: true, bulkGrant: { state: State.REJECTED } },
    });
  });

  test("shares its ids with sheets, in both directions and for the same row", async () => {
    await requestGrant("r-1", 100);
    const name = { programId, bulkGrantId: "r-1" };
    const line = "aoi,100,late parcel";
    expect(await reasonOf(submitLines(server, { ...name, cause: "ticket-7" }, line))).toBe(
      "ID_REUSED",
    );
    const replacing = { ...name, cause: "ticket-7", replacedRevision: 1 };
    expect(await reasonOf(submitLines(server, replacing, line))).toBe("ID_REUSED");
    await submitLines(server, { programId, bulkGrantId: "sheet", cause: "ticket-7" }, line);
    expect(await reasonOf(requestGrant("sheet", 100))).toBe("ID_REUSED");
  });

  test("refuses more than the caps at once, and knows its replay under lower ones", async () => {
    expect(await reasonOf(requestGrant("r-1", 5_001))).toBe("LIMIT_EXCEEDED");
    await requestGrant("r-2", 5_000);
    await enforceRules(server.deps, programId, { maxPointsPerRow: 4_000 });
    expect(await requestGrant("r-2", 5_000)).toMatchObject({ replayed: true });
    expect(await reasonOf(requestGrant("r-1", 4_001))).toBe("LIMIT_EXCEEDED");
    expect(await reasonOf(requestGrant("r-1", 1, { programId: "none" }))).toBe("PROGRAM_NOT_FOUND");
  });

  test("refuses a user id of another form than the rules demand, but no replay", async () => {
    await requestGrant("r-1", 1);
    await enforceRules(server.deps, programId, { userIdPattern: "0[0-9]{9}" });
    expect(await refusalOf(requestGrant("r-2", 1))).toMatchObject({
      ...{ reason: "INVALID_REQUEST", metadata: { field: "user_id" } },
    });
    expect(await requestGrant("r-1", 1)).toMatchObject({ replayed: true });
    expect(await requestGrant("r-2", 1, { userId: "0123456789" })).toMatchObject({
      replayed: false,
    });
    // What was granted before the rule can be taken back.
    await granted("order-17", 5);
    expect(await requestRevoke("back", "order-17")).toMatchObject({ replayed: false });
  });

  test("has no lines of a summary that repeat its row", async () => {
    await requestGrant("r-1", 501);
    await checked("r-1");
    const { lines, summary } = await server.bulkGrants.getBulkGrantSummary({
      ...{ programId, bulkGrantId: "r-1" },
    });
    expect(lines.map(({ name }) => name)).toEqual(["accounts", "points expire"]);
    expect(summary).toMatchObject({ rowCount: 1, maxPoints: 501n });
  });

  test("is compared with no sheet, and pushes none out of the comparison of sheets", async () => {
    await submitLines(server, { programId, bulkGrantId: "first" }, "aoi,5,");
    await checked("first");
    await Promise.all(Array.from({ length: 101 }, (_, i) => requestGrant(`r-${i}`, 1)));
    const summaryOf = async (bulkGrantId: string) => {
      await checked(bulkGrantId);
      return (await server.bulkGrants.getBulkGrantSummary({ programId, bulkGrantId })).summary;
    };
    const list = vi.spyOn(server.deps.reader, "bulkGrants");
    expect(await summaryOf("r-1")).toMatchObject({ comparedCount: 0, overlaps: [] });
    expect(list).not.toHaveBeenCalled();
    list.mockRestore();
    await submitLines(server, { programId, bulkGrantId: "second" }, "aoi,6,");
    expect(await summaryOf("second")).toMatchObject({
      ...{ comparedCount: 1, overlaps: [{ bulkGrantId: "first", sameUserCount: 1 }] },
    });
  });

  test("of a frozen account is INVALID, and names the command that requests it again", async () => {
    await server.points.freezeAccount({ programId, userId: "-aoi", eventId: "f" });
    const more = { userId: "-aoi", reason: "it's late", expireMonth: "2026-12" };
    await requestGrant("r-1", 100, more);
    const { state, details } = await checked("r-1");
    expect(state).toBe(State.INVALID);
    expect(details).toEqual([
      "The request is invalid.",
      "Request it again: meguri grant --request '--reason=it'\\''s late' --cause=ticket-7 " +
        `--expire-month=2026-12 --program ${programId} -- -aoi 100`,
    ]);
  });

  test("that the run was refused says why, and can be tried again", async () => {
    await requestGrant("r-1", 100);
    await checked("r-1");
    await server.points.freezeAccount({ programId, userId: "aoi", eventId: "f" });
    expect(await ran("r-1")).toMatchObject({
      state: State.DONE_WITH_FAILURES,
      details: [
        "It was refused: ACCOUNT_FROZEN.",
        `Try it again: meguri bulk retry r-1 --program ${programId}`,
      ],
    });
    await server.points.unfreezeAccount({ programId, userId: "aoi", eventId: "u" });
    await server.bulkGrants.retryBulkGrant({ programId, bulkGrantId: "r-1" });
    expect(await ran("r-1")).toMatchObject({ state: State.DONE });
  });
});

describe("RequestRevoke", () => {
  test("takes back what is left of a grant, with the approvals of what was granted", async () => {
    await granted("order-17", 600);
    await server.points.usePoints({ programId, userId: "aoi", eventId: "use", points: 100n });
    const { bulkGrant } = await requestRevoke("back", "order-17");
    expect(bulkGrant).toMatchObject({
      ...{ requiredApprovalCount: 1, totalPoints: 600n, sameContentBulkGrantId: "" },
      request: {
        ...{ operation: Operation.REVOKE, points: 600n },
        grantEvent: { origin: EventOrigin.CALLER, eventId: "order-17" },
        text: "Revoke up to 600 points of aoi, of order-17",
      },
    });
    await approve(await checked("back"));
    expect(await ran("back")).toMatchObject({
      ...{ state: State.DONE, details: ["Done: 500 points were revoked."] },
    });
    expect(await lastEntry()).toMatchObject({
      ...{ type: Type.REVOKED, points: 500n, reason: "late parcel", cause: "ticket-7" },
      relatedEvent: { origin: EventOrigin.CALLER, eventId: "order-17" },
    });
    // The grant knows what was taken back, so a call takes nothing more.
    const again = { programId, userId: "aoi", eventId: "again" };
    const revoked = await server.points.revokePoints({
      ...{ ...again, grantEvent: { eventId: "order-17" } },
    });
    expect(revoked.entry?.points).toBe(0n);
    expect(await requestRevoke("back", "order-17")).toMatchObject({ replayed: true });
  });

  test("takes back the row of a bulk grant, and works on a frozen account", async () => {
    await requestGrant("r-1", 200);
    await checked("r-1");
    await ran("r-1");
    await server.points.freezeAccount({ programId, userId: "aoi", eventId: "f" });
    const grantEvent = { origin: EventOrigin.BULK_GRANT, eventId: "r-1_aoi" };
    await requestRevoke("back", "", { grantEvent });
    expect(await checked("back")).toMatchObject({
      state: State.APPROVED,
      request: { text: "Revoke up to 200 points of aoi, of bulk grant row r-1_aoi" },
    });
    expect(await ran("back")).toMatchObject({ result: { grantedPoints: 200n } });
    const reversal = { programId, bulkGrantId: "undo", reversedBulkGrantId: "back" };
    expect(await reasonOf(server.bulkGrants.reverseBulkGrant(reversal))).toBe("INVALID_REQUEST");
  });

  test("is not counted by the tiers, and its id takes no request of another kind", async () => {
    await granted("order-17", 500);
    const revoke = await requestRevoke("back", "order-17");
    expect(await requestGrant("r-1", 500)).toMatchObject({
      bulkGrant: { requiredApprovalCount: 0, rowsDigest: revoke.bulkGrant?.rowsDigest },
    });
    expect(await reasonOf(requestGrant("back", 500))).toBe("ID_REUSED");
    await granted("order-18", 500);
    expect(await reasonOf(requestRevoke("back", "order-18"))).toBe("ID_REUSED");
  });

  test("refuses an event that is no grant, and one that there is not", async () => {
    await granted("order-17", 50);
    await server.points.usePoints({ programId, userId: "aoi", eventId: "use", points: 50n });
    expect(await reasonOf(requestRevoke("back", "use"))).toBe("WRONG_STATE");
    expect(await reasonOf(requestRevoke("back", "none"))).toBe("LEDGER_ENTRY_NOT_FOUND");
    expect(await reasonOf(requestRevoke("back", "order-17", { userId: "ben" }))).toBe(
      "LEDGER_ENTRY_NOT_FOUND",
    );
    const early = { programId, userId: "ben", eventId: "early", points: 5n };
    await server.points.grantPoints({ ...early, expireMonth: "2026-12" });
    await server.points.usePoints({ ...early, eventId: "spent" });
    const later = { programId, userId: "ben", eventId: "later", expireMonth: "2027-01" };
    await server.points.extendExpiry({ ...later, grantEvent: { eventId: "early" } });
    expect(await reasonOf(requestRevoke("back", "later", { userId: "ben" }))).toBe("WRONG_STATE");
  });
});
