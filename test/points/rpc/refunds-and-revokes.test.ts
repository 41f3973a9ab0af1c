/** Tests refunds and revokes: their points, the months of these, and their limits. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventOrigin } from "../../../src/gen/meguri/points/v1/ledger_entry_pb.ts";
import { ExpiredPointsPolicy } from "../../../src/gen/meguri/points/v1/points_service_pb.ts";
import { lineOf } from "../../support/fixtures/ledger-lines.ts";
import { at, reasonOf, refusalOf } from "../../support/servers/refusal.ts";
import { type MemoryServer, startMemoryServer } from "../../support/servers/server.ts";

const { ORIGINAL_EXPIRY, CURRENT_MONTH } = ExpiredPointsPolicy;

let server: MemoryServer;
beforeAll(async () => {
  server = await startMemoryServer();
  await server.programs.createProgram({ programId: "three", lifetimeMonths: 3 });
});
afterAll(() => server.stop());

let users = 0;

/** Creates an account in the program with lifetime 3, with short calls of its RPCs. */
function newAccount() {
  const account = { programId: "three", userId: `user-${++users}` };
  const { points, clock } = server;
  let reversals = 0;
  return {
    account,
    month: (month: string) => clock.setTime({ time: at(`${month}-10T00:00:00Z`) }),
    grant: (eventId: string, amount: number) =>
      points.grantPoints({ ...account, eventId, points: BigInt(amount) }),
    use: (eventId: string, amount: number) =>
      points.usePoints({ ...account, eventId, points: BigInt(amount) }),
    refund: (useEventId: string, amount?: number, expiredPointsPolicy: 1 | 2 = ORIGINAL_EXPIRY) =>
      points.refundPoints({
        ...account,
        eventId: `reversal-${++reversals}`,
        useEventId,
        expiredPointsPolicy,
        ...(amount !== undefined && { points: BigInt(amount) }),
      }),
    revoke: (eventId: string) =>
      points.revokePoints({
        ...account,
        eventId: `reversal-${++reversals}`,
        grantEvent: { origin: EventOrigin.CALLER, eventId },
      }),
    async held() {
      const { balance } = await points.getBalance(account);
      return balance?.buckets.map(({ month, points: left }) => `${month.slice(5)}:${left}`);
    },
    async newest(pageSize: number) {
      const { entries } = await points.listLedgerEntries({ ...account, pageSize });
      return entries.map(lineOf).reverse();
    },
    async verify() {
      const { differences } = await points.verifyAccount(account);
      expect(differences).toEqual([]);
    },
  };
}

describe("a refund", () => {
  test("restores the newest month first, in parts, and never more than was used", async () => {
    const { month, grant, use, refund, held, verify } = newAccount();
    await month("2026-01");
    await grant("jan", 50);
    await month("2026-02");
    await grant("feb", 50);
    await use("u", 80);
    expect(await held()).toEqual(["02:20"]);
    const { entry } = await refund("u", 40);
    expect(entry && lineOf(entry)).toBe("4 REFUNDED 40 (01:10 02:30) 60");
    expect(entry?.relatedEvent).toMatchObject({ origin: EventOrigin.CALLER, eventId: "u" });
    const tooMuch = await refusalOf(refund("u", 41));
    expect(tooMuch).toMatchObject({
      code: "FailedPrecondition",
      reason: "LIMIT_EXCEEDED",
      metadata: { refundable_points: "40" },
    });
    expect((await refund("u")).entry?.points).toBe(40n);
    expect(await held()).toEqual(["01:50", "02:50"]);
    expect(await reasonOf(refund("u"))).toBe("LIMIT_EXCEEDED");
    expect(await reasonOf(refund("u", 1))).toBe("LIMIT_EXCEEDED");
    await verify();
  });

  test("concurrent with others never restores more than was used", async () => {
    const { month, grant, use, refund, held } = newAccount();
    await month("2026-01");
    await grant("jan", 50);
    await use("u", 50);
    const all = await Promise.allSettled([1, 2, 3, 4].map(() => refund("u", 20)));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect(await held()).toEqual(["01:40"]);
  });

  test("of expired points with CURRENT_MONTH moves only these to the current month", async () => {
    const { month, grant, use, refund, held, newest, verify } = newAccount();
    await month("2026-01");
    await grant("jan", 10);
    await month("2026-02");
    await grant("feb", 10);
    await use("u", 15);
    await month("2026-04");
    await refund("u", undefined, CURRENT_MONTH);
    expect(await held()).toEqual(["02:10", "04:10"]);
    expect(await newest(1)).toEqual(["4 REFUNDED 15 (02:5 04:10) 20"]);
    await verify();
  });

  test("needs a use", async () => {
    const { month, grant, refund } = newAccount();
    await month("2026-01");
    await grant("jan", 10);
    expect(await refusalOf(refund("none"))).toMatchObject({
      code: "NotFound",
      reason: "LEDGER_ENTRY_NOT_FOUND",
      message: "there is no event none",
    });
    expect(await refusalOf(refund("jan"))).toMatchObject({
      code: "FailedPrecondition",
      reason: "WRONG_STATE",
      message: "event jan is ISSUED",
      metadata: { type: "ISSUED" },
    });
  });
});

describe("a revoke", () => {
  test("takes back what the month of the grant still holds of it", async () => {
    const { month, grant, use, revoke, held, verify } = newAccount();
    await month("2026-01");
    await grant("a", 10);
    await month("2026-02");
    await grant("b", 10);
    await use("u", 13);
    const { entry } = await revoke("b");
    expect(entry && lineOf(entry)).toBe("4 REVOKED 7 (02:-7) 0");
    expect(entry?.relatedEvent?.eventId).toBe("b");
    expect(await held()).toEqual([]);
    await verify();
  });

  test("needs a grant", async () => {
    const { month, grant, use, revoke } = newAccount();
    await month("2026-01");
    await grant("a", 10);
    await use("u", 1);
    expect(await reasonOf(revoke("none"))).toBe("LEDGER_ENTRY_NOT_FOUND");
    expect(await reasonOf(revoke("u"))).toBe("WRONG_STATE");
  });
});
