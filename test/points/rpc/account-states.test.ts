/** Tests unknown and frozen accounts, and a use of more points than the balance. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { ExpiredPointsPolicy } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { lineOf } from "../../support/fixtures/ledger-lines.ts";
import { reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { startServer, type TestServer } from "../../support/servers/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ testClock: false });
});
afterAll(() => server.stop());

describe("an unknown account", () => {
  test("reads as zeros and is not created by reading", async () => {
    for (const userId of ["nobody", "nobody"]) {
      const { balance } = await server.points.getBalance({ userId });
      expect(balance).toMatchObject({
        availablePoints: 0n,
        buckets: [],
        totals: {
          issuedPoints: 0n,
          usedPoints: 0n,
          expiredPoints: 0n,
          refundedPoints: 0n,
          revokedPoints: 0n,
        },
        frozen: false,
        version: 0n,
      });
      expect(balance?.nextExpiring).toBeUndefined();
    }
    const listed = await server.points.listLedgerEntries({ userId: "nobody" });
    expect([listed.entries, listed.nextPageToken]).toEqual([[], ""]);
    const verified = await server.points.verifyAccount({ userId: "nobody" });
    expect([verified.differences, verified.entryCount]).toEqual([[], 0n]);
  });

  test("of an unknown program is not found by any RPC", async () => {
    const account = { programId: "none", userId: "u" };
    const { points, reservations, programs } = server;
    const change = { ...account, eventId: "e" };
    const createTimeBefore = { seconds: 1n };
    const ledgerExport = { jobId: "e", destination: "audit", createTimeBefore };
    const grantEvent = { origin: EventOrigin.CALLER, eventId: "g" };
    const expiredPointsPolicy = ExpiredPointsPolicy.CURRENT_MONTH;
    const calls = [
      points.grantPoints({ ...change, points: 1n }),
      points.usePoints({ ...change, points: 1n }),
      points.refundPoints({ ...change, useEventId: "u", expiredPointsPolicy }),
      points.revokePoints({ ...change, grantEvent }),
      points.freezeAccount(change),
      points.unfreezeAccount(change),
      points.getBalance(account),
      points.listLedgerEntries(account),
      points.getLedgerEntry({ ...account, key: { case: "number", value: 1n } }),
      points.verifyAccount(account),
      points.verifyProgram({ ...account, jobId: "v" }),
      points.getProgramVerification({ ...account, jobId: "v" }),
      points.listProgramVerifications(account),
      points.exportLedger({ ...account, ...ledgerExport }),
      points.getLedgerExport({ ...account, jobId: "e" }),
      points.listLedgerExports(account),
      programs.getProgram(account),
      programs.updateProgram({ program: { ...account, lifetimeMonths: 12 } }),
      reservations.createReservation({
        ...account,
        reservationId: "r",
        points: 1n,
        executeTime: { seconds: 1n },
        allowPastExecuteTime: true,
      }),
      reservations.listReservations({ ...account, filter: { case: "userId", value: "u" } }),
    ];
    for (const refusal of await Promise.all(calls.map(refusalOf))) {
      expect(refusal).toMatchObject({ code: "NotFound", reason: "PROGRAM_NOT_FOUND" });
    }
  });
});

describe("a frozen account", () => {
  test("refuses grants, uses and refunds; revokes and unfreezing go on", async () => {
    const { points } = server;
    const userId = "frozen";
    await points.grantPoints({ userId, eventId: "g", points: 10n });
    await points.usePoints({ userId, eventId: "u", points: 4n });
    const frozen = await points.freezeAccount({ userId, eventId: "f", reason: "why" });
    expect(frozen.entry && lineOf(frozen.entry)).toBe("3 FROZEN 0 () 6");
    const shown = await points.getBalance({ userId });
    expect([shown.balance?.availablePoints, shown.balance?.frozen]).toEqual([6n, true]);

    const expiredPointsPolicy = ExpiredPointsPolicy.CURRENT_MONTH;
    const refund = { userId, eventId: "r", useEventId: "u", expiredPointsPolicy };
    const calls = [
      points.grantPoints({ userId, eventId: "g2", points: 1n }),
      points.usePoints({ userId, eventId: "u2", points: 1n }),
      points.refundPoints(refund),
    ];
    for (const refusal of await Promise.all(calls.map(refusalOf))) {
      expect(refusal).toMatchObject({ code: "FailedPrecondition", reason: "ACCOUNT_FROZEN" });
    }
    // A grant from before is still replayed.
    const again = await points.grantPoints({ userId, eventId: "g", points: 10n });
    expect(again.replayed).toBe(true);

    const grantEvent = { origin: EventOrigin.CALLER, eventId: "g" };
    const revoked = await points.revokePoints({ userId, eventId: "v", grantEvent });
    expect(revoked.entry?.points).toBe(6n);
    // Freezing twice and unfreezing twice writes an entry each time.
    await points.freezeAccount({ userId, eventId: "f2" });
    await points.unfreezeAccount({ userId, eventId: "t" });
    const unfrozen = await points.unfreezeAccount({ userId, eventId: "t2" });
    expect(unfrozen.entry && lineOf(unfrozen.entry)).toBe("7 UNFROZEN 0 () 0");
    expect((await points.refundPoints(refund)).availablePoints).toBe(4n);
    expect((await points.verifyAccount({ userId })).differences).toEqual([]);
  });

  test("is created by freezing an unknown one; unfreezing needs one", async () => {
    const { points } = server;
    const unfreeze = points.unfreezeAccount({ userId: "new", eventId: "t" });
    expect(await refusalOf(unfreeze)).toMatchObject({
      code: "NotFound",
      reason: "ACCOUNT_NOT_FOUND",
    });
    await points.freezeAccount({ userId: "new", eventId: "f" });
    const grant = () => points.grantPoints({ userId: "new", eventId: "g", points: 1n });
    expect(await reasonOf(grant())).toBe("ACCOUNT_FROZEN");
    await points.unfreezeAccount({ userId: "new", eventId: "t" });
    expect((await grant()).entry?.number).toBe(3n);
  });
});

describe("a use", () => {
  test("of more than the balance is refused with the balance and takes nothing", async () => {
    const { points } = server;
    await points.grantPoints({ userId: "little", eventId: "g", points: 10n });
    const call = points.usePoints({ userId: "little", eventId: "u", points: 11n });
    expect(await refusalOf(call)).toMatchObject({
      code: "FailedPrecondition",
      reason: "INSUFFICIENT_POINTS",
      metadata: { available_points: "10" },
      retries: false,
    });
    expect((await points.getBalance({ userId: "little" })).balance?.version).toBe(1n);
  });
});
