/** The ring of an account: settling, lengthening, sweeping, and servers whose zone data differ. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  balanceOf,
  buckets,
  emptyAccount,
  expireDue,
  pointsOf,
  slotOf,
} from "../../src/domain/account.ts";
import { DomainError } from "../../src/domain/errors.ts";
import type { LedgerEntry } from "../../src/domain/ledger.ts";
import { formatMonth, monthStart, parseMonth } from "../../src/domain/month.ts";
import { expireForMonthEnd } from "../../src/domain/points.ts";
import { lengthen } from "../../src/domain/program.ts";
import { changes, createStory, day, months, program } from "../support/fixtures/accounts.ts";

describe("the golden case: lifetime 3, slots 0 / 1 / 2", () => {
  const three = program(3);
  const story = createStory(three);
  /** The ring as it stands at `now`. */
  const at = (now: number) => {
    const { account } = expireDue(story.account, three, now);
    return { pointer: slotOf(account.month, 3), slots: account.slots, balance: balanceOf(account) };
  };

  test("month by month", () => {
    story.grant(day("2026-01-10"), "jan", 10);
    expect(at(day("2026-01-31"))).toEqual({ pointer: 0, slots: [10, 0, 0], balance: 10 });
    expect(at(day("2026-02-01"))).toEqual({ pointer: 1, slots: [10, 0, 0], balance: 10 });
    story.grant(day("2026-02-10"), "feb", 50);
    expect(at(day("2026-02-10"))).toEqual({ pointer: 1, slots: [10, 50, 0], balance: 60 });
    expect(at(day("2026-03-01"))).toEqual({ pointer: 2, slots: [10, 50, 0], balance: 60 });
    story.grant(day("2026-03-10"), "mar", 40);
    expect(at(day("2026-03-31"))).toEqual({ pointer: 2, slots: [10, 50, 40], balance: 100 });

    const april = Date.parse("2026-04-01T00:00:00+09:00");
    expect(at(april - 1)).toEqual({ pointer: 2, slots: [10, 50, 40], balance: 100 });
    expect(at(april)).toEqual({ pointer: 0, slots: [0, 50, 40], balance: 90 });

    story.grant(day("2026-04-10"), "apr", 30);
    expect(story.entries.at(-2)).toMatchObject({
      type: "EXPIRED",
      event: { origin: "x", eventId: "2026-01" },
      effectiveTime: april,
      createTime: day("2026-04-10"),
      points: 10,
      total: "expired",
      balance: 90,
    });
    expect(at(day("2026-04-10"))).toEqual({ pointer: 0, slots: [30, 50, 40], balance: 120 });

    const used = story.use(day("2026-04-20"), "use", 80);
    expect(changes(used)).toEqual([
      ["2026-02", -50],
      ["2026-03", -30],
    ]);
    expect(at(day("2026-04-20"))).toEqual({ pointer: 0, slots: [30, 0, 10], balance: 40 });
    expect(story.account.totals).toEqual({
      issued: 130,
      used: 80,
      expired: 10,
      refunded: 0,
      revoked: 0,
    });
    expect(story.entries.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("the walk begins behind the pointer and ends at it", () => {
    expect(buckets(story.account).map(({ month }) => formatMonth(month))).toEqual([
      "2026-03",
      "2026-04",
    ]);
    expect(pointsOf(story.account, parseMonth("2026-03"))).toBe(10);
    // January and April share a slot, and so do February and May.
    expect(pointsOf(story.account, parseMonth("2026-01"))).toBe(0);
    expect(pointsOf(story.account, parseMonth("2026-05"))).toBe(0);
  });
});

describe("settling", () => {
  const grantEach = (lifetime: number, count: number) => {
    const of = program(lifetime);
    const story = createStory(of);
    for (let i = 0; i < count; i++) {
      story.grant(monthStart(of.timeZone, parseMonth("2026-01") + i), `g${i}`, i + 1);
    }
    return { of, story };
  };

  test.each([1, 2, 3, 12, 24, 36])("lifetime %i: any number of months at once", (lifetime) => {
    const { of, story } = grantEach(lifetime, lifetime);
    const from = parseMonth("2026-01") + lifetime - 1;
    for (let ahead = 0; ahead <= 2 * lifetime + 1; ahead++) {
      const now = monthStart(of.timeZone, from + ahead);
      const { account, entries } = expireDue(story.account, of, now);
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
      expect(balanceOf(account)).toBe(total - (gone * (gone + 1)) / 2);
      expect(account.totals.expired).toBe((gone * (gone + 1)) / 2);
    }
  });

  test("at once or month by month: the same account and ledger but for the recorded times", () => {
    const { of, story } = grantEach(12, 12);
    const from = parseMonth("2026-12");
    const end = monthStart(of.timeZone, from + 20);
    const atOnce = expireDue(story.account, of, end);
    let account = story.account;
    const entries = [];
    for (let ahead = 1; ahead <= 20; ahead++) {
      const step = expireDue(account, of, monthStart(of.timeZone, from + ahead));
      account = step.account;
      entries.push(...step.entries);
      // Twice is once.
      expect(expireDue(account, of, monthStart(of.timeZone, from + ahead)).entries).toEqual([]);
    }
    const timeless = (all: readonly object[]) => all.map((each) => ({ ...each, createTime: 0 }));
    expect(timeless(entries)).toEqual(timeless(atOnce.entries));
    expect({ ...account, time: 0 }).toEqual({ ...atOnce.account, time: 0 });
  });

  test("a clock that runs back turns nothing back", () => {
    const { of, story } = grantEach(3, 3);
    const june = day("2026-06-10");
    const { account } = expireDue(story.account, of, june);
    const back = expireDue(account, of, day("2026-02-10"));
    expect(back).toEqual({ account, entries: [] });
    story.put(account, []);
    const granted = story.grant(day("2026-02-10"), "late", 7);
    expect(granted.createTime).toBe(june);
    expect(changes(granted)).toEqual([["2026-06", 7]]);
    expect(story.account.time).toBe(june);
  });

  test("nothing to do is the same account", () => {
    const { of, story } = grantEach(3, 1);
    expect(expireDue(story.account, of, day("2026-01-31")).account).toBe(story.account);
  });

  test("an account of a later program is not decided on", () => {
    const { of, story } = grantEach(3, 1);
    const longer = lengthen(of, 6, day("2026-01-15"));
    story.put(expireDue(story.account, longer, day("2026-01-16")).account, []);
    expect(story.account.slots).toHaveLength(6);
    expect(() => expireDue(story.account, of, day("2026-01-17"))).toThrow(
      expect.objectContaining({ reason: "PROGRAM_STALE" }),
    );
  });
});

describe("lengthening a live program", () => {
  test("lays the ring out anew and lengthens what has not expired", () => {
    const three = program(3);
    const story = createStory(three);
    story.grant(day("2026-01-10"), "jan", 1);
    story.grant(day("2026-02-10"), "feb", 2);
    story.grant(day("2026-03-10"), "mar", 4);
    const longer = lengthen(three, 5, day("2026-03-20"));
    story.change(longer);
    const { account, entries } = expireDue(story.account, longer, day("2026-03-21"));
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

  test("what expired before it under the old lifetime stays so, however late it is found", () => {
    const two = program(2);
    const story = createStory(two);
    story.grant(day("2026-01-10"), "jan", 1);
    story.grant(day("2026-02-10"), "feb", 2);
    const longer = lengthen(two, 12, day("2026-03-20"));
    const { account, entries } = expireDue(story.account, longer, day("2026-11-10"));
    expect(entries.map(({ effectiveTime }) => effectiveTime)).toEqual([
      monthStart(two.timeZone, parseMonth("2026-03")),
    ]);
    expect(months(account)).toEqual({ "2026-02": 2 });
    // As if it had been touched in time.
    const early = expireDue(story.account, two, day("2026-03-10"));
    const late = expireDue(early.account, longer, day("2026-11-10"));
    expect({ ...late.account, time: 0 }).toEqual({ ...account, time: 0 });
  });

  test("exactly at a month's end: what expires at that very instant is gone", () => {
    const april = monthStart("Asia/Tokyo", parseMonth("2026-04"));
    const lifetimes = (effectiveTime: number) => [
      { lifetimeMonths: 3, effectiveTime: 0 },
      { lifetimeMonths: 6, effectiveTime },
    ];
    const story = createStory(program(3));
    story.grant(day("2026-01-10"), "jan", 1);
    story.grant(day("2026-02-10"), "feb", 2);
    const at = program(3, { lifetimes: lifetimes(april) });
    const before = program(3, { lifetimes: lifetimes(april - 1) });
    const after = program(3, { lifetimes: lifetimes(april + 1) });
    for (const now of [april, april + 1, day("2026-06-15")]) {
      expect(months(expireDue(story.account, at, now).account)).toEqual({ "2026-02": 2 });
      expect(months(expireDue(story.account, after, now).account)).toEqual({ "2026-02": 2 });
      const kept = expireDue(story.account, before, now).account;
      expect(months(kept)).toEqual({ "2026-01": 1, "2026-02": 2 });
    }
    expect(expireDue(story.account, at, april).account.slots).toHaveLength(6);
    expect(expireDue(story.account, after, april).account.slots).toHaveLength(3);
    const all = { "2026-01": 1, "2026-02": 2 };
    expect(months(expireDue(story.account, at, april - 1).account)).toEqual(all);
  });

  test("several at once, and the longest ring", () => {
    let of = program(1);
    const story = createStory(of);
    story.grant(day("2026-01-10"), "jan", 1);
    of = lengthen(lengthen(of, 2, day("2026-01-20")), 36, day("2026-01-20"));
    story.change(of);
    story.grant(day("2026-02-10"), "feb", 2);
    expect(story.account.slots).toHaveLength(36);
    const end = monthStart(of.timeZone, parseMonth("2029-01"));
    expect(balanceOf(expireDue(story.account, of, end - 1).account)).toBe(3);
    expect(months(expireDue(story.account, of, end).account)).toEqual({ "2026-02": 2 });
  });
});

describe("sweeping", () => {
  test("makes the bound of the index exact and takes an empty account out of it", () => {
    const three = program(3);
    const story = createStory(three);
    story.grant(day("2026-01-10"), "jan", 5);
    story.grant(day("2026-02-10"), "feb", 5);
    story.use(day("2026-02-11"), "use", 5);
    expect(formatMonth(story.account.oldest as number)).toBe("2026-01");

    const vain = expireForMonthEnd(story.account, three, day("2026-04-01"));
    expect(vain.entries).toEqual([]);
    expect(formatMonth(vain.account.oldest as number)).toBe("2026-02");
    const last = expireForMonthEnd(vain.account, three, day("2026-05-01"));
    expect(last.entries.map(({ points }) => points)).toEqual([5]);
    expect(last.account.oldest).toBeUndefined();
    const again = expireForMonthEnd(last.account, three, day("2026-05-02"));
    expect(again).toEqual({ account: last.account, entries: [] });
  });

  test("a refund to an older month moves the bound back", () => {
    const three = program(3);
    const story = createStory(three);
    story.grant(day("2026-01-10"), "jan", 5);
    story.use(day("2026-01-11"), "use", 5);
    story.put(expireForMonthEnd(story.account, three, day("2026-01-12")).account, []);
    expect(story.account.oldest).toBeUndefined();
    story.grant(day("2026-02-10"), "feb", 5);
    story.refund(day("2026-02-11"), "refund", "use");
    expect(formatMonth(story.account.oldest as number)).toBe("2026-01");
  });
});

/** One place whose offset changed with a release of the zone data: two zones stand for the two. */
describe("servers with different zone data", () => {
  const ahead = program(3, { timeZone: "Asia/Dhaka" });
  const behind = program(3, { timeZone: "Asia/Tashkent" });
  /** December has begun with the data of `ahead`, not with those of `behind`. */
  const between = Date.parse("2026-11-30T18:10:00Z");

  test("the month does not go back, and points granted in it live as long as it does", () => {
    const story = createStory(ahead);
    story.grant(between, "g1", 100);
    story.change(behind);
    const granted = story.grant(between + 60_000, "g2", 50);
    expect(changes(granted)).toEqual([["2026-12", 50]]);
    expect(granted.expireTime).toBe(monthStart(behind.timeZone, parseMonth("2027-03")));
    expect(months(story.account)).toEqual({ "2026-12": 150 });
    const later = expireDue(story.account, behind, between + 3_600_000);
    expect(later.entries).toEqual([]);
    expect(months(later.account)).toEqual({ "2026-12": 150 });
  });

  test("a refund does not restore points to a month that has left the ring", () => {
    const story = createStory(ahead);
    story.grant(day("2026-09-10"), "sep", 10);
    story.use(day("2026-09-11"), "use", 10);
    story.grant(between, "dec", 5);
    story.change(behind);
    story.refund(between + 60_000, "refund", "use");
    expect(story.entries.at(-1)).toMatchObject({ type: "EXPIRED", points: 10, balance: 5 });
    expect(months(story.account)).toEqual({ "2026-12": 5 });
  });

  test("whichever decides: no month goes back, and the buckets are what the ledger says", () => {
    const step = fc.record({
      ms: fc.constantFrom(0, 60_000, 3_600_000, 20 * 86_400_000, 45 * 86_400_000),
      toMonthEnd: fc.boolean(),
      isBehind: fc.boolean(),
      op: fc.constantFrom("grant" as const, "use" as const, "refund" as const),
      points: fc.integer({ min: 1, max: 50 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 30 }), (steps) => {
        const story = createStory(ahead);
        story.grant(between, "first", 10);
        let now = between;
        let use: string | undefined;
        for (const [i, { ms, toMonthEnd, isBehind, op, points }] of steps.entries()) {
          const { month } = story.account;
          const monthEnd = monthStart(ahead.timeZone, month + 1) + 600_000;
          now = toMonthEnd ? Math.max(now, monthEnd) : now + ms;
          story.change(isBehind ? behind : ahead);
          try {
            if (op === "grant") story.grant(now, `e${i}`, points);
            if (op === "refund" && use) story.refund(now, `e${i}`, use);
            if (op === "use") {
              story.use(now, `e${i}`, points, true);
              use = `e${i}`;
            }
          } catch (error) {
            if (!(error instanceof DomainError)) throw error;
          }
          expect(story.account.month).toBeGreaterThanOrEqual(month);
          expect(months(story.account)).toEqual(sumOf(story.entries));
        }
      }),
    );
  });
});

/** What the changes of a ledger add up to, for each month with points. */
function sumOf(entries: readonly LedgerEntry[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [month, points] of entries.flatMap(changes)) {
    sums[month] = (sums[month] ?? 0) + points;
    if (sums[month] === 0) delete sums[month];
  }
  return sums;
}

test("an account that is not there yet holds nothing", () => {
  const account = emptyAccount(program(12), "u", day("2026-01-10"));
  expect(balanceOf(account)).toBe(0);
  expect(buckets(account)).toEqual([]);
  expect(account).toMatchObject({ last: 0, frozen: false, month: parseMonth("2026-01") });
});
