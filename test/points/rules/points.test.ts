/** Tests the changes of an account: uses, refunds, revokes, freezing and the limits. */

import { describe, expect, test } from "vitest";
import { maxPoints } from "../../../src/platform/words/units.ts";
import { availablePointsOf, emptyAccount } from "../../../src/points/rules/account.ts";
import { noTotals } from "../../../src/points/rules/ledger.ts";
import { grant, maxBalance, setFrozen } from "../../../src/points/rules/points.ts";
import { refund, spentByUse } from "../../../src/points/rules/refund.ts";
import {
  changes,
  createLedger,
  day,
  event,
  months,
  program,
} from "../../support/fixtures/ledger-fixture.ts";

const refused = (reason: string, metadata?: object) =>
  expect.objectContaining({ reason, ...(metadata && { metadata }) });

/** Four months with points, of which the first three are used by one use. */
function used() {
  const ledger = createLedger(program(6));
  ledger.grant(day("2026-01-10"), "jan", 10);
  ledger.grant(day("2026-02-10"), "feb", 20);
  ledger.grant(day("2026-03-10"), "mar", 30);
  ledger.grant(day("2026-04-10"), "apr", 40);
  ledger.use(day("2026-04-11"), "use", 55);
  return ledger;
}

describe("using", () => {
  test("takes the oldest first, over the edge of the ring", () => {
    const ledger = used();
    expect(changes(ledger.entries.at(-1) as never)).toEqual([
      ["2026-01", -10],
      ["2026-02", -20],
      ["2026-03", -25],
    ]);
    expect(months(ledger.account)).toEqual({ "2026-03": 5, "2026-04": 40 });
  });

  test("a use of too many points is refused with the balance, unless it may be partial", () => {
    const ledger = used();
    const now = day("2026-04-12");
    expect(() => ledger.use(now, "much", 46)).toThrow(
      refused("INSUFFICIENT_POINTS", { available_points: "45" }),
    );
    expect(ledger.use(now, "part", 46, true).points).toBe(45);
    for (const partial of [true, false]) {
      expect(() => ledger.use(now, "none", 1, partial)).toThrow(
        refused("INSUFFICIENT_POINTS", { available_points: "0" }),
      );
    }
    ledger.grant(now, "more", 3);
    expect(ledger.use(now, "exact", 3).points).toBe(3);
    expect(availablePointsOf(ledger.account)).toBe(0);
  });
});

describe("refunding", () => {
  test("restores the newest month first, in parts", () => {
    const ledger = used();
    const now = day("2026-04-20");
    expect(changes(ledger.refund(now, "r1", "use", 10))).toEqual([["2026-03", 10]]);
    expect(changes(ledger.refund(now, "r2", "use", 20))).toEqual([
      ["2026-02", 5],
      ["2026-03", 15],
    ]);
    expect(changes(ledger.refund(now, "r3", "use", 15))).toEqual([["2026-02", 15]]);
    expect(() => ledger.refund(now, "r4", "use", 11)).toThrow(
      refused("LIMIT_EXCEEDED", { refundable_points: "10" }),
    );
    expect(changes(ledger.refund(now, "r5", "use"))).toEqual([["2026-01", 10]]);
    expect(() => ledger.refund(now, "r6", "use")).toThrow(
      refused("LIMIT_EXCEEDED", { refundable_points: "0" }),
    );
    expect(months(ledger.account)).toEqual({
      "2026-01": 10,
      "2026-02": 20,
      "2026-03": 30,
      "2026-04": 40,
    });
    expect(ledger.account.totals.refundedPoints).toBe(55);
  });

  test("ORIGINAL_EXPIRY: what has expired expires at once, and the ledger shows both", () => {
    const ledger = used();
    // The points of January and February have expired by the tenth of August.
    const now = day("2026-08-10");
    const before = ledger.entries.length;
    const entry = ledger.refund(now, "r", "use");
    expect(changes(entry)).toEqual([
      ["2026-01", 10],
      ["2026-02", 20],
      ["2026-03", 25],
    ]);
    // March, April: 45; with the refund 100; without what has expired 70.
    expect(entry.availablePoints).toBe(100);
    const [first, second] = ledger.entries.slice(before + 1);
    expect(first).toMatchObject({
      type: "EXPIRED",
      event: { origin: "x", eventId: "2026-01/c:r" },
      points: 10,
      reason: "",
      availablePoints: 90,
      effectiveTime: Date.parse("2026-07-01T00:00:00+09:00"),
      createTime: now,
    });
    expect(second).toMatchObject({
      event: { eventId: "2026-02/c:r" },
      points: 20,
      availablePoints: 70,
    });
    expect(months(ledger.account)).toEqual({ "2026-03": 30, "2026-04": 40 });
    expect(ledger.account.totals).toMatchObject({ refundedPoints: 55, expiredPoints: 30 });
  });

  test("ORIGINAL_EXPIRY in parts: each shows its own expiries", () => {
    const ledger = used();
    const now = day("2026-08-10");
    ledger.refund(now, "r1", "use", 40);
    ledger.refund(now, "r2", "use", 15);
    const expired = ledger.entries.filter(({ type }) => type === "EXPIRED");
    expect(expired.map(({ event: { eventId }, points }) => [eventId, points])).toEqual([
      ["2026-02/c:r1", 15],
      ["2026-01/c:r2", 10],
      ["2026-02/c:r2", 5],
    ]);
    expect(months(ledger.account)).toEqual({ "2026-03": 30, "2026-04": 40 });
  });

  test("CURRENT_MONTH: only what has expired moves to the current month", () => {
    const ledger = used();
    const now = day("2026-08-10");
    const entry = ledger.refund(now, "r", "use", undefined, "CURRENT_MONTH");
    expect(changes(entry)).toEqual([
      ["2026-03", 25],
      ["2026-08", 30],
    ]);
    expect(months(ledger.account)).toEqual({ "2026-03": 30, "2026-04": 40, "2026-08": 30 });
    expect(ledger.account.totals).toMatchObject({ refundedPoints: 55, expiredPoints: 0 });
  });

  test("CURRENT_MONTH: points move in the month in which they have expired, not before", () => {
    const ledger = createLedger(program(2));
    ledger.grant(day("2026-01-10"), "jan", 10);
    ledger.grant(day("2026-02-10"), "feb", 20);
    ledger.use(day("2026-02-11"), "use", 30);
    // Nothing has expired yet.
    expect(changes(ledger.refund(day("2026-02-12"), "r1", "use", 25, "CURRENT_MONTH"))).toEqual([
      ["2026-01", 5],
      ["2026-02", 20],
    ]);
    ledger.grant(day("2026-03-10"), "mar", 1);
    expect(changes(ledger.refund(day("2026-03-12"), "r2", "use", 5, "CURRENT_MONTH"))).toEqual([
      ["2026-03", 5],
    ]);
    expect(months(ledger.account)).toEqual({ "2026-02": 20, "2026-03": 6 });
  });

  test("at the instant of expiry the points have expired", () => {
    const july = Date.parse("2026-07-01T00:00:00+09:00");
    const before = used();
    before.refund(july - 1, "r", "use");
    expect(before.account.totals.expiredPoints).toBe(0);
    const after = used();
    after.refund(july, "r", "use");
    expect(after.account.totals.expiredPoints).toBe(10);
    expect(months(after.account)).not.toHaveProperty("2026-01");
    const current = used();
    current.refund(july, "r", "use", undefined, "CURRENT_MONTH");
    expect(months(current.account)).toMatchObject({ "2026-02": 20, "2026-07": 10 });
  });

  test("what has expired before a lengthening, or at its instant, stays expired", () => {
    const april = Date.parse("2026-04-01T00:00:00+09:00");
    for (const [effectiveTime, now] of [
      [april, april],
      [day("2026-04-15"), day("2026-04-20")],
    ] as const) {
      const ledger = createLedger(program(3));
      ledger.grant(day("2026-01-10"), "jan", 10);
      ledger.use(day("2026-01-11"), "use", 10);
      const first = { lifetimeMonths: 3, effectiveTime: 0 };
      ledger.setProgram(program(3, { lifetimes: [first, { lifetimeMonths: 6, effectiveTime }] }));
      ledger.refund(now, "r1", "use", 4);
      expect(ledger.account.slots).toHaveLength(6);
      expect(months(ledger.account)).toEqual({});
      expect(ledger.account.totals.expiredPoints).toBe(4);
      ledger.refund(now, "r2", "use", 6, "CURRENT_MONTH");
      expect(months(ledger.account)).toEqual({ "2026-04": 6 });
    }
  });

  test("restores what the use took though its grant was revoked in between", () => {
    const ledger = createLedger(program(6));
    ledger.grant(day("2026-01-10"), "a", 10);
    ledger.use(day("2026-01-11"), "use", 10);
    expect(ledger.revoke(day("2026-01-12"), "v", "a").points).toBe(0);
    ledger.refund(day("2026-01-13"), "r", "use");
    expect(availablePointsOf(ledger.account)).toBe(10);
    // Now the month has points again, so the revoke takes them.
    expect(ledger.revoke(day("2026-01-14"), "v2", "a").points).toBe(10);
    expect(availablePointsOf(ledger.account)).toBe(0);
  });

  test("refunded points may be used and refunded again, each use by itself", () => {
    const ledger = used();
    const now = day("2026-04-20");
    ledger.refund(now, "r", "use");
    ledger.use(now, "again", 100);
    expect(() => ledger.refund(now, "r2", "use")).toThrow(refused("LIMIT_EXCEEDED"));
    expect(ledger.refund(now, "r3", "again").points).toBe(100);
  });
});

describe("revoking", () => {
  test("takes what the grant's month holds, at most the rest of the grant", () => {
    const ledger = createLedger(program(6));
    ledger.grant(day("2026-01-10"), "a", 10);
    ledger.grant(day("2026-01-11"), "b", 10);
    ledger.use(day("2026-01-12"), "use", 15);
    // Inside a month points are interchangeable.
    const first = ledger.revoke(day("2026-01-13"), "v1", "a");
    expect(first).toMatchObject({ points: 5, relatedEvent: { origin: "c", eventId: "a" } });
    ledger.refund(day("2026-01-14"), "r", "use");
    expect(ledger.revoke(day("2026-01-15"), "v2", "a").points).toBe(5);
    const nothing = ledger.revoke(day("2026-01-16"), "v3", "a");
    expect(nothing).toMatchObject({ points: 0, changes: [] });
    expect(ledger.account.totals.revokedPoints).toBe(10);
    expect(ledger.key("a").reversedPoints).toBe(10);
    expect(availablePointsOf(ledger.account)).toBe(10);
  });

  test("takes nothing of what has expired, nor of the month that shares its slot", () => {
    const ledger = createLedger(program(3));
    ledger.grant(day("2026-01-10"), "jan", 10);
    ledger.grant(day("2026-04-10"), "apr", 10);
    expect(ledger.revoke(day("2026-04-11"), "v", "jan").points).toBe(0);
    expect(months(ledger.account)).toEqual({ "2026-04": 10 });
  });

  test("works on a frozen account", () => {
    const ledger = createLedger(program(3));
    ledger.grant(day("2026-01-10"), "jan", 10);
    ledger.freeze(day("2026-01-11"), "f");
    expect(ledger.revoke(day("2026-01-12"), "v", "jan").points).toBe(10);
    expect(ledger.account.frozen).toBe(true);
  });
});

describe("freezing", () => {
  test("refuses grants, uses and refunds; expiry goes on", () => {
    const ledger = used();
    ledger.freeze(day("2026-04-12"), "f");
    const now = day("2026-04-13");
    expect(() => ledger.grant(now, "x", 1)).toThrow(refused("ACCOUNT_FROZEN"));
    expect(() => ledger.use(now, "x", 1)).toThrow(refused("ACCOUNT_FROZEN"));
    expect(() => ledger.refund(now, "x", "use")).toThrow(refused("ACCOUNT_FROZEN"));
    const unfrozen = ledger.freeze(day("2026-10-13"), "u", false);
    expect(unfrozen).toMatchObject({
      type: "UNFROZEN",
      frozen: false,
      points: 0,
      availablePoints: 0,
    });
    const expired = ledger.entries.filter(({ type }) => type === "EXPIRED");
    expect(expired.map(({ points, frozen }) => [points, frozen])).toEqual([
      [5, true],
      [40, true],
    ]);
    ledger.grant(day("2026-10-14"), "y", 1);
  });

  test("freezing creates an unknown account, unfreezing does not", () => {
    const state = { program: program(3), userId: "u", account: undefined, now: day("2026-01-10") };
    const { account, entries } = setFrozen(state, event("f"), true);
    expect(account).toMatchObject({ frozen: true, last: 1 });
    expect(account.oldest).toBeUndefined();
    expect(entries.map(({ type }) => type)).toEqual(["FROZEN"]);
    expect(() => setFrozen(state, event("f"), false)).toThrow(refused("ACCOUNT_NOT_FOUND"));
  });

  test("freezing twice writes two entries", () => {
    const ledger = used();
    ledger.freeze(day("2026-04-12"), "f1");
    ledger.freeze(day("2026-04-12"), "f2");
    expect(ledger.entries.slice(-2).map(({ type }) => type)).toEqual(["FROZEN", "FROZEN"]);
  });
});

describe("limits", () => {
  const now = day("2026-01-10");
  const full = (more: object) => ({
    ...emptyAccount(program(3), "u", now),
    slots: [maxBalance - maxPoints, 0, 0],
    ...more,
  });

  test("a balance may be 10^15 and not one more", () => {
    const state = { program: program(3), userId: "u", account: full({}), now };
    const { account } = grant(state, event("a"), maxPoints);
    expect(availablePointsOf(account)).toBe(maxBalance);
    expect(() => grant({ ...state, account }, event("b"), 1)).toThrow(
      refused("LIMIT_EXCEEDED", { limit: "1000000000000000" }),
    );
  });

  test("the sums of issued and of refunded points have a limit", () => {
    const totals = { ...noTotals, issuedPoints: maxBalance };
    const account = full({ totals, slots: [0, 0, 0] });
    const state = { program: program(3), userId: "u", account, now };
    expect(() => grant(state, event("a"), 1)).toThrow(refused("LIMIT_EXCEEDED"));
    const refunded = { ...account, totals: { ...totals, refundedPoints: maxBalance } };
    const ledger = createLedger(program(3));
    ledger.grant(now, "g", 5);
    ledger.use(now, "use", 5);
    const used = spentByUse(ledger.key("use"));
    expect(() =>
      refund({ ...state, account: refunded }, event("r"), used, 1, "ORIGINAL_EXPIRY"),
    ).toThrow(refused("LIMIT_EXCEEDED"));
  });
});

test("an ISSUED entry has the expiry time that is known when it is written", () => {
  const ledger = createLedger(program(3));
  const entry = ledger.grant(day("2026-01-10"), "a", 1);
  expect(entry.expireTime).toBe(Date.parse("2026-04-01T00:00:00+09:00"));
});
