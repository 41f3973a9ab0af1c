/** Tests the ring of an account: expiry, lengthening, the sweep, and zone data that differ. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { formatMonth, monthStart, parseMonth } from "../../../src/platform/words/month.ts";
import {
  availablePointsOf,
  buckets,
  emptyAccount,
  expireDue,
  pointsOf,
  slotOf,
} from "../../../src/points/rules/account.ts";
import { type LedgerEntry, noTotals } from "../../../src/points/rules/ledger.ts";
import { expireForMonthEnd } from "../../../src/points/rules/points.ts";
import { lengthen } from "../../../src/points/rules/program.ts";
import {
  changes,
  createLedger,
  day,
  months,
  program,
} from "../../support/fixtures/ledger-fixture.ts";

describe("the golden case: lifetime 3, slots 0 / 1 / 2", () => {
  const three = program(3);
  const ledger = createLedger(three);
  /** The ring after what is due at `now` has expired. */
  const at = (now: number) => {
    const { account } = expireDue(ledger.account, three, now);
    return {
      pointer: slotOf(account.month, 3),
      slots: account.slots,
      balance: availablePointsOf(account),
    };
  };

  test("month by month", () => {
    ledger.grant(day("2026-01-10"), "jan", 10);
    expect(at(day("2026-01-31"))).toEqual({ pointer: 0, slots: [10, 0, 0], balance: 10 });
    expect(at(day("2026-02-01"))).toEqual({ pointer: 1, slots: [10, 0, 0], balance: 10 });
    ledger.grant(day("2026-02-10"), "feb", 50);
    expect(at(day("2026-02-10"))).toEqual({ pointer: 1, slots: [10, 50, 0], balance: 60 });
    expect(at(day("2026-03-01"))).toEqual({ pointer: 2, slots: [10, 50, 0], balance: 60 });
    ledger.grant(day("2026-03-10"), "mar", 40);
    expect(at(day("2026-03-31"))).toEqual({ pointer: 2, slots: [10, 50, 40], balance: 100 });

    const april = Date.parse("2026-04-01T00:00:00+09:00");
    expect(at(april - 1)).toEqual({ pointer: 2, slots: [10, 50, 40], balance: 100 });
    expect(at(april)).toEqual({ pointer: 0, slots: [0, 50, 40], balance: 90 });

    ledger.grant(day("2026-04-10"), "apr", 30);
    expect(ledger.entries.at(-2)).toMatchObject({
      type: "EXPIRED",
      event: { origin: "x", eventId: "2026-01" },
      effectiveTime: april,
      createTime: day("2026-04-10"),
      points: 10,
      total: "expiredPoints",
      availablePoints: 90,
    });
    expect(at(day("2026-04-10"))).toEqual({ pointer: 0, slots: [30, 50, 40], balance: 120 });

    const used = ledger.use(day("2026-04-20"), "use", 80);
    expect(changes(used)).toEqual([
      ["2026-02", -50],
      ["2026-03", -30],
    ]);
    expect(at(day("2026-04-20"))).toEqual({ pointer: 0, slots: [30, 0, 10], balance: 40 });
    expect(ledger.account.totals).toEqual({
      ...noTotals,
      issuedPoints: 130,
      usedPoints: 80,
      expiredPoints: 10,
    });
    expect(ledger.entries.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("buckets are listed from the one after the pointer to the pointer", () => {
    expect(buckets(ledger.account).map(({ month }) => formatMonth(month))).toEqual([
      "2026-03",
      "2026-04",
    ]);
    expect(pointsOf(ledger.account, parseMonth("2026-03"))).toBe(10);
    // January and April share a slot, and so do February and May.
    expect(pointsOf(ledger.account, parseMonth("2026-01"))).toBe(0);
    expect(pointsOf(ledger.account, parseMonth("2026-05"))).toBe(0);
  });
});

describe("expiring what is due", () => {
  const grantEach = (lifetime: number, count: number) => {
    const of = program(lifetime);
    const ledger = createLedger(of);
    for (let i = 0; i < count; i++) {
      ledger.grant(monthStart(of.timeZone, parseMonth("2026-01") + i), `g${i}`, i + 1);
    }
    return { of, ledger };
  };

  test.each([1, 2, 3, 12, 24, 36])("lifetime %i: any number of months at once", (lifetime) => {
    const { of, ledger } = grantEach(lifetime, lifetime);
    const from = parseMonth("2026-01") + lifetime - 1;
    for (let ahead = 0; ahead <= 2 * lifetime + 1; ahead++) {
      const now = monthStart(of.timeZone, from + ahead);
      const { account, entries } = expireDue(ledger.account, of, now);
      const gone = Math.min(ahead, lifetime);
      expect(entries.map(({ points }) => points)).toEqual(
        Array.from({ length: gone }, (_, i) => i + 1),
      );
      expect(entries.map(({ effectiveTime }) => effectiveTime)).toEqual(
        entries.map((_, i) => monthStart(of.timeZone, parseMonth("2026-01") + i + lifetime)),
      );
      expect(entries.every(({ createTime }) => createTime === now)).toBe(true);
      expect(account.month).toBe(from + ahead);
      const total = (lifetime * (lifetime + 1)) / 2;
      expect(availablePointsOf(account)).toBe(total - (gone * (gone + 1)) / 2);
      expect(account.totals.expiredPoints).toBe((gone * (gone + 1)) / 2);
    }
  });

  test("at once or month by month: the same account and ledger but for the recorded times", () => {
    const { of, ledger } = grantEach(12, 12);
    const from = parseMonth("2026-12");
    const end = monthStart(of.timeZone, from + 20);
    const atOnce = expireDue(ledger.account, of, end);
    let account = ledger.account;
    const entries = [];
    for (let ahead = 1; ahead <= 20; ahead++) {
      const step = expireDue(account, of, monthStart(of.timeZone, from + ahead));
      account = step.account;
      entries.push(...step.entries);
      // A second time changes nothing.
      expect(expireDue(account, of, monthStart(of.timeZone, from + ahead)).entries).toEqual([]);
    }
    const timeless = (all: readonly object[]) => all.map((each) => ({ ...each, createTime: 0 }));
    expect(timeless(entries)).toEqual(timeless(atOnce.entries));
    expect({ ...account, time: 0 }).toEqual({ ...atOnce.account, time: 0 });
  });

  test("a clock that runs back does not turn the ring back", () => {
    const { of, ledger } = grantEach(3, 3);
    const june = day("2026-06-10");
    const { account } = expireDue(ledger.account, of, june);
    const back = expireDue(account, of, day("2026-02-10"));
    expect(back).toEqual({ account, entries: [] });
    ledger.put(account, []);
    const granted = ledger.grant(day("2026-02-10"), "late", 7);
    expect(granted.createTime).toBe(june);
    expect(changes(granted)).toEqual([["2026-06", 7]]);
    expect(ledger.account.time).toBe(june);
  });

  test("an account with nothing due is returned as it is", () => {
    const { of, ledger } = grantEach(3, 1);
    expect(expireDue(ledger.account, of, day("2026-01-31")).account).toBe(ledger.account);
  });

  test.each([
    { month: Number.NaN },
    { slots: [Number.NaN] },
    { totals: { ...noTotals, issuedPoints: Number.NaN } },
    { last: Number.NaN },
    { time: Number.NaN },
  ])("an account whose stored item lacked an attribute is refused: %o", (damage) => {
    const { of, ledger } = grantEach(3, 1);
    const damaged = { ...ledger.account, ...damage };
    expect(() => expireDue(damaged, of, day("2026-01-31"))).toThrow(TypeError);
  });

  test("an account whose ring is longer than the lifetime is refused", () => {
    const { of, ledger } = grantEach(3, 1);
    const longer = lengthen(of, 6, day("2026-01-15"));
    ledger.put(expireDue(ledger.account, longer, day("2026-01-16")).account, []);
    expect(ledger.account.slots).toHaveLength(6);
    expect(() => expireDue(ledger.account, of, day("2026-01-17"))).toThrow(
      expect.objectContaining({ reason: "PROGRAM_STALE" }),
    );
  });
});

describe("lengthening a live program", () => {
  test("lays the ring out again and lengthens what has not expired", () => {
    const three = program(3);
    const ledger = createLedger(three);
    ledger.grant(day("2026-01-10"), "jan", 1);
    ledger.grant(day("2026-02-10"), "feb", 2);
    ledger.grant(day("2026-03-10"), "mar", 4);
    const longer = lengthen(three, 5, day("2026-03-20"));
    ledger.setProgram(longer);
    const { account, entries } = expireDue(ledger.account, longer, day("2026-03-21"));
    expect(entries).toEqual([]);
    expect(account.slots).toHaveLength(5);
    expect(months(account)).toEqual({ "2026-01": 1, "2026-02": 2, "2026-03": 4 });
    const june = monthStart(three.timeZone, parseMonth("2026-06"));
    expect(months(expireDue(account, longer, june - 1).account)).toEqual(months(account));
    expect(months(expireDue(account, longer, june).account)).toEqual({
      "2026-02": 2,
      "2026-03": 4,
    });
  });

  test("what expired before it under the old lifetime stays expired", () => {
    const two = program(2);
    const ledger = createLedger(two);
    ledger.grant(day("2026-01-10"), "jan", 1);
    ledger.grant(day("2026-02-10"), "feb", 2);
    const longer = lengthen(two, 12, day("2026-03-20"));
    const { account, entries } = expireDue(ledger.account, longer, day("2026-11-10"));
    expect(entries.map(({ effectiveTime }) => effectiveTime)).toEqual([
      monthStart(two.timeZone, parseMonth("2026-03")),
    ]);
    expect(months(account)).toEqual({ "2026-02": 2 });
    // The same as for an account that was changed in between.
    const early = expireDue(ledger.account, two, day("2026-03-10"));
    const late = expireDue(early.account, longer, day("2026-11-10"));
    expect({ ...late.account, time: 0 }).toEqual({ ...account, time: 0 });
  });

  test("exactly at a month's end: what is due at that instant has expired", () => {
    const april = monthStart("Asia/Tokyo", parseMonth("2026-04"));
    const lifetimes = (effectiveTime: number) => [
      { lifetimeMonths: 3, effectiveTime: 0 },
      { lifetimeMonths: 6, effectiveTime },
    ];
    const ledger = createLedger(program(3));
    ledger.grant(day("2026-01-10"), "jan", 1);
    ledger.grant(day("2026-02-10"), "feb", 2);
    const at = program(3, { lifetimes: lifetimes(april) });
    const before = program(3, { lifetimes: lifetimes(april - 1) });
    const after = program(3, { lifetimes: lifetimes(april + 1) });
    for (const now of [april, april + 1, day("2026-06-15")]) {
      expect(months(expireDue(ledger.account, at, now).account)).toEqual({ "2026-02": 2 });
      expect(months(expireDue(ledger.account, after, now).account)).toEqual({ "2026-02": 2 });
      const kept = expireDue(ledger.account, before, now).account;
      expect(months(kept)).toEqual({ "2026-01": 1, "2026-02": 2 });
    }
    expect(expireDue(ledger.account, at, april).account.slots).toHaveLength(6);
    expect(expireDue(ledger.account, after, april).account.slots).toHaveLength(3);
    const all = { "2026-01": 1, "2026-02": 2 };
    expect(months(expireDue(ledger.account, at, april - 1).account)).toEqual(all);
  });

  test("several at once, and the longest ring", () => {
    let of = program(1);
    const ledger = createLedger(of);
    ledger.grant(day("2026-01-10"), "jan", 1);
    of = lengthen(lengthen(of, 2, day("2026-01-20")), 36, day("2026-01-20"));
    ledger.setProgram(of);
    ledger.grant(day("2026-02-10"), "feb", 2);
    expect(ledger.account.slots).toHaveLength(36);
    const end = monthStart(of.timeZone, parseMonth("2029-01"));
    expect(availablePointsOf(expireDue(ledger.account, of, end - 1).account)).toBe(3);
    expect(months(expireDue(ledger.account, of, end).account)).toEqual({ "2026-02": 2 });
  });
});

describe("the month-end sweep", () => {
  test("makes the bound of the index exact and takes an empty account out of it", () => {
    const three = program(3);
    const ledger = createLedger(three);
    ledger.grant(day("2026-01-10"), "jan", 5);
    ledger.grant(day("2026-02-10"), "feb", 5);
    ledger.use(day("2026-02-11"), "use", 5);
    expect(formatMonth(ledger.account.oldest as number)).toBe("2026-01");

    const unchanged = expireForMonthEnd(ledger.account, three, day("2026-04-01"));
    expect(unchanged.entries).toEqual([]);
    expect(formatMonth(unchanged.account.oldest as number)).toBe("2026-02");
    const last = expireForMonthEnd(unchanged.account, three, day("2026-05-01"));
    expect(last.entries.map(({ points }) => points)).toEqual([5]);
    expect(last.account).not.toHaveProperty("oldest");
    const again = expireForMonthEnd(last.account, three, day("2026-05-02"));
    expect(again).toEqual({ account: last.account, entries: [] });
  });

  test("only the sweep raises the bound, so that grants do not write the index", () => {
    const ledger = createLedger(program(3));
    ledger.grant(day("2026-01-10"), "jan", 5);
    ledger.use(day("2026-01-11"), "use", 5);
    ledger.grant(day("2026-02-10"), "feb", 5);
    expect(formatMonth(ledger.account.oldest as number)).toBe("2026-01");
  });

  test("a refund that expires at once gives an account without points no bound", () => {
    const three = program(3);
    const ledger = createLedger(three);
    ledger.grant(day("2026-01-10"), "jan", 5);
    ledger.use(day("2026-01-11"), "use", 5);
    ledger.put(expireForMonthEnd(ledger.account, three, day("2026-01-12")).account, []);
    ledger.refund(day("2026-04-10"), "refund", "use");
    expect(months(ledger.account)).toEqual({});
    expect(ledger.account).not.toHaveProperty("oldest");
  });

  test("a refund to an older month moves the bound back", () => {
    const three = program(3);
    const ledger = createLedger(three);
    ledger.grant(day("2026-01-10"), "jan", 5);
    ledger.use(day("2026-01-11"), "use", 5);
    ledger.put(expireForMonthEnd(ledger.account, three, day("2026-01-12")).account, []);
    expect(ledger.account.oldest).toBeUndefined();
    ledger.grant(day("2026-02-10"), "feb", 5);
    ledger.refund(day("2026-02-11"), "refund", "use");
    expect(formatMonth(ledger.account.oldest as number)).toBe("2026-01");
  });
});

/** Two time zones simulate two releases of the zone data with different offsets of one place. */
describe("servers with different zone data", () => {
  const ahead = program(3, { timeZone: "Asia/Dhaka" });
  const behind = program(3, { timeZone: "Asia/Tashkent" });
  /** December has begun with the data of `ahead`, not with those of `behind`. */
  const between = Date.parse("2026-11-30T18:10:00Z");

  test("the month does not go back, and points granted in it live as long as it does", () => {
    const ledger = createLedger(ahead);
    ledger.grant(between, "g1", 100);
    ledger.setProgram(behind);
    const granted = ledger.grant(between + 60_000, "g2", 50);
    expect(changes(granted)).toEqual([["2026-12", 50]]);
    expect(granted.expireTime).toBe(monthStart(behind.timeZone, parseMonth("2027-03")));
    expect(months(ledger.account)).toEqual({ "2026-12": 150 });
    const later = expireDue(ledger.account, behind, between + 3_600_000);
    expect(later.entries).toEqual([]);
    expect(months(later.account)).toEqual({ "2026-12": 150 });
  });

  test("a refund does not restore points to a month that has left the ring", () => {
    const ledger = createLedger(ahead);
    ledger.grant(day("2026-09-10"), "sep", 10);
    ledger.use(day("2026-09-11"), "use", 10);
    ledger.grant(between, "dec", 5);
    ledger.setProgram(behind);
    ledger.refund(between + 60_000, "refund", "use");
    expect(ledger.entries.at(-1)).toMatchObject({
      type: "EXPIRED",
      points: 10,
      availablePoints: 5,
    });
    expect(months(ledger.account)).toEqual({ "2026-12": 5 });
  });

  test("whichever server decides: no month goes back, and the buckets equal the ledger", () => {
    const step = fc.record({
      ms: fc.constantFrom(0, 60_000, 3_600_000, 20 * 86_400_000, 45 * 86_400_000),
      toMonthEnd: fc.boolean(),
      isBehind: fc.boolean(),
      op: fc.constantFrom("grant" as const, "use" as const, "refund" as const),
      points: fc.integer({ min: 1, max: 50 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 30 }), (steps) => {
        const ledger = createLedger(ahead);
        ledger.grant(between, "first", 10);
        let now = between;
        let use: string | undefined;
        for (const [i, { ms, toMonthEnd, isBehind, op, points }] of steps.entries()) {
          const { month } = ledger.account;
          const monthEnd = monthStart(ahead.timeZone, month + 1) + 600_000;
          now = toMonthEnd ? Math.max(now, monthEnd) : now + ms;
          ledger.setProgram(isBehind ? behind : ahead);
          try {
            if (op === "grant") ledger.grant(now, `e${i}`, points);
            if (op === "refund" && use) ledger.refund(now, `e${i}`, use);
            if (op === "use") {
              ledger.use(now, `e${i}`, points, true);
              use = `e${i}`;
            }
          } catch (error) {
            if (!(error instanceof DomainError)) throw error;
          }
          expect(ledger.account.month).toBeGreaterThanOrEqual(month);
          expect(months(ledger.account)).toEqual(sumOf(ledger.entries));
        }
      }),
    );
  });
});

/** The sum of a ledger's changes for each month with points. */
function sumOf(entries: readonly LedgerEntry[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [month, points] of entries.flatMap(changes)) {
    sums[month] = (sums[month] ?? 0) + points;
    if (sums[month] === 0) delete sums[month];
  }
  return sums;
}

test("an account that does not exist has no points", () => {
  const account = emptyAccount(program(12), "u", day("2026-01-10"));
  expect(availablePointsOf(account)).toBe(0);
  expect(buckets(account)).toEqual([]);
  expect(account).toMatchObject({ last: 0, frozen: false, month: parseMonth("2026-01") });
  expect(account.slots).toEqual(Array(12).fill(0));
});
