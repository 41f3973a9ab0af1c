/** Tests points that end early: where they are put, how they end, and how they are extended. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatMonth, monthStart, parseMonth } from "../../../src/platform/words/month.ts";
import { availablePointsOf, expireDue, expiredMonth } from "../../../src/points/rules/account.ts";
import {
  bucketMonth,
  expiryParameters,
  whyImpossible,
} from "../../../src/points/rules/early-expiry.ts";
import { pointsExpiringAt } from "../../../src/points/rules/expiry-notice.ts";
import { expireForMonthEnd } from "../../../src/points/rules/points.ts";
import type { LifetimeChange } from "../../../src/points/rules/program.ts";
import {
  changes,
  createLedger,
  day,
  months,
  program,
} from "../../support/fixtures/ledger-fixture.ts";

const refused = (reason: string, metadata?: object) =>
  expect.objectContaining({ reason, ...(metadata && { metadata }) });
const startOf = (month: string) => monthStart("Asia/Tokyo", parseMonth(month));
const of = (current: string, lifetime: number, expiry?: Parameters<typeof bucketMonth>[2]) =>
  formatMonth(bucketMonth(parseMonth(current), lifetime, expiry));

/** A program of 12 months that becomes one of 24 at this instant. */
function lengthenedAt(effectiveTime: number) {
  const lifetimes: LifetimeChange[] = [
    { lifetimeMonths: 12, effectiveTime: 0 },
    { lifetimeMonths: 24, effectiveTime },
  ];
  return program(12, { lifetimes });
}

describe("the month whose bucket takes the points", () => {
  test("is the current one, or the earlier one whose points expire then", () => {
    expect(of("2026-11", 12)).toBe("2026-11");
    const ending = (month: string) => of("2026-11", 12, { expireMonth: parseMonth(month) });
    expect(["2026-11", "2027-01", "2027-10"].map(ending)).toEqual([
      "2025-12",
      "2026-02",
      "2026-11",
    ]);
    const after = (expireAfterMonths: number) => of("2026-11", 12, { expireAfterMonths });
    expect([1, 3, 12].map(after)).toEqual(["2025-12", "2026-02", "2026-11"]);
    expect(of("2026-11", 1, { expireAfterMonths: 1 })).toBe("2026-11");
  });

  test("is refused for a month that is over, and for one beyond the lifetime", () => {
    const range = { earliest_expire_month: "2026-11", latest_expire_month: "2027-10" };
    for (const expireMonth of ["2026-10", "2027-11", "0000-01", "9999-12"].map(parseMonth)) {
      const refusal = refused("LIMIT_EXCEEDED", range);
      expect(() => bucketMonth(parseMonth("2026-11"), 12, { expireMonth })).toThrow(refusal);
    }
    expect(() => of("2026-11", 12, { expireAfterMonths: 13 })).toThrow(refused("LIMIT_EXCEEDED"));
    const why = (month: string) =>
      whyImpossible(parseMonth("2026-11"), 12, { expireMonth: parseMonth(month) });
    expect(why("2026-10")).toBe(
      "2026-10 is over; points can expire at the end of 2026-11 to 2027-10",
    );
    expect(why("2027-11")).toMatch(/^2027-11 is too late; /);
    expect(why("2027-10")).toBeUndefined();
  });

  test("is no parameter of a request without it", () => {
    expect(expiryParameters()).toEqual({ expireMonth: undefined, expireAfterMonths: undefined });
  });
});

describe("a grant that ends early", () => {
  test("is drained before points that end later, and expires at the right instant", () => {
    const ledger = createLedger(program(12));
    ledger.grant(day("2026-11-10"), "year", 100);
    const entry = ledger.grant(day("2026-11-11"), "quarter", 50, "2027-01");
    expect(entry.expireTime).toBe(startOf("2027-02"));
    expect(changes(entry)).toEqual([["2026-02", 50]]);
    const used = ledger.use(day("2026-12-01"), "use", 30);
    expect(changes(used)).toEqual([["2026-02", -30]]);
    expect(
      availablePointsOf(expireDue(ledger.account, program(12), startOf("2027-02") - 1).account),
    ).toBe(120);
    ledger.use(startOf("2027-02"), "late", 1);
    expect(ledger.entries.at(-2)).toMatchObject({
      type: "EXPIRED",
      points: 20,
      effectiveTime: startOf("2027-02"),
    });
    expect(months(ledger.account)).toEqual({ "2026-11": 99 });
  });

  test("lowers the bound by which the sweep finds the account, and only then", () => {
    const ledger = createLedger(program(12));
    ledger.grant(day("2026-11-10"), "year", 100);
    expect(ledger.account.oldest).toBe(parseMonth("2026-11"));
    ledger.grant(day("2026-11-11"), "quarter", 50, "2027-01");
    expect(ledger.account.oldest).toBe(parseMonth("2026-02"));
    ledger.grant(day("2026-11-12"), "half", 50, "2027-04");
    expect(ledger.account.oldest).toBe(parseMonth("2026-02"));
    const end = startOf("2027-02");
    expect(expiredMonth(program(12), end)).toBe(parseMonth("2026-02"));
    const swept = expireForMonthEnd(ledger.account, program(12), end);
    expect(swept.entries).toHaveLength(1);
    expect(swept.account.oldest).toBe(parseMonth("2026-05"));
  });

  test("is announced with the month that ends", () => {
    const ledger = createLedger(program(12));
    ledger.grant(day("2026-11-10"), "year", 100);
    ledger.grant(day("2026-11-11"), "quarter", 50, "2027-01");
    const now = day("2027-01-25");
    const expiring = (month: string) =>
      pointsExpiringAt(ledger.account, program(12), parseMonth(month), now);
    expect([expiring("2027-02"), expiring("2027-03")]).toEqual([50, 0]);
  });

  test("is lengthened by as much as a later lengthening lengthens", () => {
    const ledger = createLedger(program(12));
    ledger.grant(day("2026-11-10"), "quarter", 50, "2027-01");
    const longer = lengthenedAt(day("2026-12-10"));
    ledger.setProgram(longer);
    const after = day("2026-12-20");
    // A new one ends as it says, also in a month whose first points have expired long ago.
    const entry = ledger.grant(after, "new", 7, "2027-01");
    expect(entry.expireTime).toBe(startOf("2027-02"));
    expect(changes(entry)).toEqual([["2025-02", 7]]);
    expect(pointsExpiringAt(ledger.account, longer, parseMonth("2027-02"), after)).toBe(7);
    expect(pointsExpiringAt(ledger.account, longer, parseMonth("2028-02"), after)).toBe(50);
    ledger.freeze(startOf("2027-02"), "touch");
    expect(months(ledger.account)).toEqual({ "2026-02": 50 });
    ledger.freeze(startOf("2028-02") - 1, "before");
    expect(availablePointsOf(ledger.account)).toBe(50);
    ledger.freeze(startOf("2028-02"), "end");
    expect(availablePointsOf(ledger.account)).toBe(0);
  });

  test("has an expiry of its own name in a month whose points had expired before", () => {
    const ledger = createLedger(program(12));
    ledger.grant(day("2025-02-10"), "first", 10);
    ledger.use(day("2025-02-11"), "use", 4);
    ledger.setProgram(lengthenedAt(day("2026-12-10")));
    ledger.grant(day("2026-12-20"), "new", 7, "2027-01");
    // What was used of the first points has expired, although their month has points again.
    const refund = ledger.refund(day("2026-12-21"), "refund", "use");
    expect([changes(refund), availablePointsOf(ledger.account)]).toEqual([[["2025-02", 4]], 7]);
    expect(ledger.revoke(day("2026-12-22"), "revoke", "first").points).toBe(0);
    ledger.freeze(day("2027-02-01"), "touch");
    const expired = ledger.entries.filter(({ type }) => type === "EXPIRED");
    expect(expired.map(({ event: { eventId }, points }) => [eventId, points])).toEqual([
      ["2025-02", 6],
      ["2025-02/c:refund", 4],
      ["2025-02/2027-01", 7],
    ]);
  });

  test("ends with the current month of a lifetime of one month", () => {
    const ledger = createLedger(program(1));
    expect(ledger.grant(day("2026-11-10"), "a", 1, "2026-11").expireTime).toBe(startOf("2026-12"));
    expect(() => ledger.grant(day("2026-11-10"), "b", 1, "2026-12")).toThrow(
      refused("LIMIT_EXCEEDED"),
    );
  });
});

describe("an extension", () => {
  /** 50 points that end in January, and 100 that last for a year. */
  function granted() {
    const ledger = createLedger(program(12));
    ledger.grant(day("2026-11-10"), "quarter", 50, "2027-01");
    ledger.grant(day("2026-11-10"), "year", 100);
    return ledger;
  }
  const now = day("2026-12-10");

  test("moves what is left to a later month, in one entry", () => {
    const ledger = granted();
    ledger.use(day("2026-11-20"), "use", 20);
    const entry = ledger.extend(now, "x", "quarter", "2027-04");
    expect(entry).toMatchObject({
      type: "EXTENDED",
      points: 30,
      availablePoints: 130,
      expireTime: startOf("2027-05"),
      relatedEvent: { origin: "c", eventId: "quarter" },
    });
    expect(entry.total).toBeUndefined();
    expect(changes(entry)).toEqual([
      ["2026-02", -30],
      ["2026-05", 30],
    ]);
    // The refund of what was used before goes back to the month of the use.
    ledger.refund(now, "refund", "use");
    expect(months(ledger.account)).toEqual({ "2026-02": 20, "2026-05": 30, "2026-11": 100 });
    // What came back is what the grant still has.
    expect(ledger.revoke(now, "v", "quarter").points).toBe(20);
  });

  test("twice, a revoke of the grant and one of the extension: nothing is doubled or lost", () => {
    const ledger = granted();
    expect(ledger.extend(now, "x1", "quarter", "2027-04").points).toBe(50);
    expect(ledger.extend(now, "x2", "quarter", "2027-05").points).toBe(0);
    expect(ledger.revoke(now, "v1", "quarter").points).toBe(0);
    expect(ledger.extend(now, "x3", "x1", "2027-06").points).toBe(50);
    expect(ledger.revoke(now, "v2", "x1").points).toBe(0);
    expect(ledger.revoke(now, "v3", "x3").points).toBe(50);
    expect(ledger.revoke(now, "v4", "x3").points).toBe(0);
    expect(ledger.extend(now, "x4", "x3", "2027-07").points).toBe(0);
    expect(ledger.extend(now, "x5", "x4", "2027-07").points).toBe(0);
    expect(months(ledger.account)).toEqual({ "2026-11": 100 });
    expect(ledger.account.totals).toMatchObject({ issuedPoints: 150, revokedPoints: 50 });
  });

  test("after a revoke moves nothing", () => {
    const ledger = granted();
    expect(ledger.revoke(now, "v", "quarter").points).toBe(50);
    expect(ledger.extend(now, "x", "quarter", "2027-04").points).toBe(0);
  });

  test("is refused for a month that is not later, that is over, or beyond the lifetime", () => {
    const ledger = granted();
    for (const ends of ["2026-11", "2026-12", "2027-01", "2027-12"]) {
      expect(() => ledger.extend(now, "x", "quarter", ends), ends).toThrow(
        refused("LIMIT_EXCEEDED"),
      );
    }
    expect(() => ledger.extend(now, "x", "year", "2027-10")).toThrow(refused("LIMIT_EXCEEDED"));
    expect(ledger.extend(now, "x", "year", "2027-11").points).toBe(100);
  });

  test("of expired points moves nothing, at the instant of their end or later", () => {
    const end = startOf("2027-02");
    expect(granted().extend(end - 1, "x", "quarter", "2027-04").points).toBe(50);
    expect(granted().extend(end, "x", "quarter", "2027-04").points).toBe(0);
  });

  test("works on a frozen account, which stays frozen", () => {
    const ledger = granted();
    ledger.freeze(now, "f");
    const entry = ledger.extend(now, "x", "quarter", "2027-04");
    expect([entry.points, entry.frozen]).toEqual([50, true]);
  });
});

test("points of any month end at its end, whatever was granted beside them", () => {
  const grants = fc.array(fc.tuple(fc.nat(23), fc.integer({ min: 1, max: 9 })), { maxLength: 12 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 24 }), grants, (lifetime, all) => {
      const ledger = createLedger(program(lifetime));
      const current = parseMonth("2026-11");
      const byEnd = new Map<number, number>();
      for (const [i, [ahead, points]] of all.entries()) {
        const end = current + (ahead % lifetime);
        ledger.grant(day("2026-11-10") + i, `g${i}`, points, formatMonth(end));
        byEnd.set(end, (byEnd.get(end) ?? 0) + points);
      }
      if (all.length === 0) return;
      for (let end = current; end < current + lifetime; end++) {
        const boundary = monthStart("Asia/Tokyo", end + 1);
        const held = (now: number) =>
          availablePointsOf(expireDue(ledger.account, program(lifetime), now).account);
        expect(held(boundary - 1) - held(boundary)).toBe(byEnd.get(end) ?? 0);
      }
    }),
  );
});
