/** Tests the lifetimes of a program and the expiry that follows from them, and its other rules. */
import { describe, expect, test } from "vitest";
import { asService } from "../../../src/platform/words/caller.ts";
import { monthStart, parseMonth } from "../../../src/platform/words/month.ts";
import { expiredMonth, firstExpireTime, lifetimeAt } from "../../../src/points/rules/account.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";
import {
  addShards,
  lengthen,
  lengtheningDelayMs,
  monthsBehind,
  pauseReservations,
  reservationShardsOf,
  resumeReservations,
  setBalanceLimits,
  setNotices,
  withMonthEnd,
} from "../../../src/points/rules/program.ts";
import { day, program } from "../../support/fixtures/ledger-fixture.ts";

const startOf = (month: string) => monthStart("Asia/Tokyo", parseMonth(month));

describe("lifetimes", () => {
  test("take effect once the network has delivered them and all servers know of them", () => {
    const now = day("2026-03-20");
    const longer = lengthen(program(3), 6, now);
    expect(longer.lifetimes).toEqual([
      { lifetimeMonths: 3, effectiveTime: 0 },
      { lifetimeMonths: 6, effectiveTime: now + lengtheningDelayMs },
    ]);
    // A held write arrives after `lateEntriesMs`; a server decides by a copy of up to a minute.
    expect(lengtheningDelayMs).toBe(lateEntriesMs + 2 * 60_000);
    expect(lifetimeAt(longer, now)).toBe(3);
    expect(lifetimeAt(longer, now + lengtheningDelayMs - 1)).toBe(3);
    expect(lifetimeAt(longer, now + lengtheningDelayMs)).toBe(6);
  });

  test("the same is no change", () => {
    const of = program(3);
    expect(lengthen(of, 3, 0)).toBe(of);
    const longer = lengthen(of, 6, day("2026-03-20"));
    expect(lengthen(longer, 6, day("2026-03-20"))).toBe(longer);
  });

  test("stay in order though the clock ran back", () => {
    const first = lengthen(program(3), 6, day("2026-03-20"));
    const second = lengthen(first, 9, day("2026-03-10"));
    const times = second.lifetimes.map(({ effectiveTime }) => effectiveTime);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(lifetimeAt(second, day("2026-03-20"))).toBe(3);
    expect(lifetimeAt(second, day("2026-03-21"))).toBe(9);
  });
});

test("shards of reservations become more, never fewer", () => {
  const of = program(3);
  expect(addShards(of, 16)).toBe(of);
  const more = addShards(of, 64);
  expect([reservationShardsOf(of), reservationShardsOf(more)]).toEqual([16, 64]);
  expect(addShards(more, 64)).toBe(more);
  expect(() => addShards(more, 16)).toThrow(
    expect.objectContaining({ reason: "WRONG_STATE", metadata: { reservation_shard_count: "64" } }),
  );
});

test("a pause of reservations stays until a resume, and neither has an effect twice", () => {
  const running = program(3);
  const pause = { time: 5, caller: asService("shop"), reason: "wrong points" };
  const paused = pauseReservations(running, pause);
  expect(paused).toEqual({ ...running, reservationPause: pause });
  expect(pauseReservations(paused, { time: 9, caller: asService("desk"), reason: "" })).toBe(
    paused,
  );
  expect(resumeReservations(paused, 9)).toEqual({ ...running, resumeTime: 9 });
  expect(resumeReservations(running, 9)).toBe(running);
});

test("notices are replaced as a whole, and none are left when both are off", () => {
  const silent = program(3);
  const both = setNotices(silent, { expiryDays: 7, reservedGrants: true });
  expect(both).toEqual({ ...silent, notices: { expiryDays: 7, reservedGrants: true } });
  expect(setNotices(both, { expiryDays: 7, reservedGrants: true })).toBe(both);
  const grants = { expiryDays: 0, reservedGrants: true };
  expect(setNotices(both, grants)).toEqual({ ...silent, notices: grants });
  const expiries = { expiryDays: 7, reservedGrants: false };
  expect(setNotices(both, expiries)).toEqual({ ...silent, notices: expiries });
  const off = { expiryDays: 0, reservedGrants: false };
  expect(setNotices(both, off)).toEqual(silent);
  expect(setNotices(silent, off)).toBe(silent);
});

test("limits of balances are kept in order, and none of them is none", () => {
  const without = program(3);
  const limited = setBalanceLimits(without, { below: [500, 100], above: [10_000, 0] });
  const balanceLimits = { below: [100, 500], above: [0, 10_000] };
  expect(limited).toEqual({ ...without, balanceLimits });
  expect(setBalanceLimits(limited, { below: [100, 500], above: [10_000, 0] })).toBe(limited);
  const other = { below: [100], above: [] };
  expect(setBalanceLimits(limited, other)).toEqual({ ...without, balanceLimits: other });
  const none = { below: [], above: [] };
  expect(setBalanceLimits(limited, none)).toEqual(without);
  expect(setBalanceLimits(without, none)).toBe(without);
});

describe("month ends", () => {
  const november = { month: parseMonth("2026-11"), failedCount: 0 };

  test("are missing from the month of the creation on, until they are kept", () => {
    const created = program(3, { createTime: day("2026-10-20") });
    expect(monthsBehind(created, startOf("2026-11") - 1)).toBe(0);
    expect(monthsBehind(created, startOf("2026-11"))).toBe(1);
    expect(monthsBehind(created, startOf("2027-02"))).toBe(4);
    const kept = withMonthEnd(created, november);
    expect(monthsBehind(kept, startOf("2027-01") - 1)).toBe(0);
    expect(monthsBehind(kept, startOf("2027-01"))).toBe(1);
    // A clock that was ahead has had a month end too early.
    expect(monthsBehind(kept, day("2026-11-20"))).toBe(0);
  });

  test("count their last sweep, and one that was overtaken changes nothing", () => {
    const failed = withMonthEnd(program(3), { ...november, failedCount: 2 });
    expect(failed.monthEnd).toEqual({ ...november, failedCount: 2 });
    const repeated = withMonthEnd(failed, november);
    expect(repeated.monthEnd).toEqual(november);
    expect(withMonthEnd(repeated, november)).toBe(repeated);
    const october = { month: november.month - 1, failedCount: 9 };
    expect(withMonthEnd(repeated, october)).toBe(repeated);
  });
});

describe("expiry", () => {
  test("is the first instant of month + lifetime", () => {
    expect(firstExpireTime(program(3), parseMonth("2026-01"))).toBe(startOf("2026-04"));
    expect(firstExpireTime(program(12), parseMonth("2026-11"))).toBe(startOf("2027-11"));
    // From a leap day's month, and to one.
    expect(firstExpireTime(program(12), parseMonth("2028-02"))).toBe(startOf("2029-02"));
    expect(firstExpireTime(program(36), parseMonth("2025-02"))).toBe(startOf("2028-02"));
  });

  test("moves for what has not expired when the lengthening takes effect", () => {
    const from = day("2026-05-20");
    const of = program(3, {
      lifetimes: [
        { lifetimeMonths: 3, effectiveTime: 0 },
        { lifetimeMonths: 6, effectiveTime: from },
        { lifetimeMonths: 12, effectiveTime: day("2026-09-20") },
      ],
    });
    const table = {
      "2025-12": "2026-03",
      // Expired at the first of May under three months.
      "2026-02": "2026-05",
      // Would have expired in June; under six months in September, before twelve take effect.
      "2026-03": "2026-09",
      // Would have expired in October under six months; twelve take effect before that.
      "2026-04": "2027-04",
      "2026-09": "2027-09",
    };
    for (const [month, expire] of Object.entries(table)) {
      expect(firstExpireTime(of, parseMonth(month)), month).toBe(startOf(expire));
    }
  });

  test("gives the sweep its last expired month, old lifetimes included", () => {
    const of = program(3, {
      lifetimes: [
        { lifetimeMonths: 3, effectiveTime: 0 },
        { lifetimeMonths: 12, effectiveTime: startOf("2026-05") + 120_000 },
      ],
    });
    const until = (now: number) => expiredMonth(of, now);
    expect(until(startOf("2026-05") - 1)).toBe(parseMonth("2026-01"));
    expect(until(startOf("2026-05"))).toBe(parseMonth("2026-02"));
    // The lifetime is twelve months now; what expired under three is still due.
    expect(until(startOf("2026-06"))).toBe(parseMonth("2026-02"));
    expect(until(startOf("2027-03") - 1)).toBe(parseMonth("2026-02"));
    expect(until(startOf("2027-03"))).toBe(parseMonth("2026-03"));
    expect(until(startOf("2027-04"))).toBe(parseMonth("2026-04"));
  });
});
