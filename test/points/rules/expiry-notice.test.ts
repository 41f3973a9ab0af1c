/** Tests when members are notified of points that expire soon, and of how many points. */
import { describe, expect, test } from "vitest";
import { formatMonth, parseMonth } from "../../../src/platform/words/month.ts";
import { announcedMonth, pointsExpiringAt } from "../../../src/points/rules/expiry-notice.ts";
import { lengthen } from "../../../src/points/rules/program.ts";
import { createLedger, day, program } from "../../support/fixtures/ledger-fixture.ts";

const notices = (expiryDays: number) => ({ notices: { expiryDays, reservedGrants: false } });

describe("the announced month", () => {
  const monthAt = (time: string, expiryDays: number, timeZone = "Asia/Tokyo") => {
    const of = program(3, { timeZone, ...notices(expiryDays) });
    const month = announcedMonth(of, Date.parse(time));
    return month === undefined ? undefined : formatMonth(month);
  };

  test.each([
    // 10:00 on the day of the schedule: 31, 30, 28 and 29 days.
    ["2026-12-25T10:00:00+09:00", 7, "2027-01"],
    ["2026-11-24T10:00:00+09:00", 7, "2026-12"],
    ["2027-02-22T10:00:00+09:00", 7, "2027-03"],
    ["2028-02-22T10:00:00+09:00", 7, "2028-03"],
    ["2026-11-30T10:00:00+09:00", 1, "2026-12"],
    ["2027-02-02T10:00:00+09:00", 27, "2027-03"],
    ["2026-11-30T23:59:59+09:00", 7, "2026-12"],
  ])("at %s with %i days is %s", (time, days, month) => {
    expect(monthAt(time, days)).toBe(month);
  });

  test("is none more than a day before the schedule's, so that a late run is no early one", () => {
    expect(monthAt("2026-11-22T23:59:59+09:00", 7)).toBeUndefined();
    expect(monthAt("2026-11-23T00:00:00+09:00", 7)).toBe("2026-12");
    expect(monthAt("2026-12-01T00:00:00+09:00", 7)).toBeUndefined();
    expect(monthAt("2026-11-30T23:59:59+09:00", 0)).toBeUndefined();
    expect(announcedMonth(program(3), day("2026-11-30"))).toBeUndefined();
  });

  test("is that of the program's zone", () => {
    expect(monthAt("2026-11-30T20:00:00Z", 1, "Asia/Tokyo")).toBeUndefined();
    expect(monthAt("2026-11-30T20:00:00Z", 1, "America/New_York")).toBe("2026-12");
    expect(monthAt("2026-12-01T04:59:59Z", 1, "America/New_York")).toBe("2026-12");
  });
});

describe("the points that expire", () => {
  const april = parseMonth("2026-04");

  test("are those of one month, less what was used, whatever else has expired before", () => {
    const of = program(3, notices(7));
    const ledger = createLedger(of);
    ledger.grant(day("2025-12-10"), "dec", 5);
    ledger.grant(day("2026-01-10"), "jan", 10);
    ledger.grant(day("2026-02-10"), "feb", 20);
    // The account was last changed in February: December is rotated out first.
    expect(pointsExpiringAt(ledger.account, of, april, day("2026-03-25"))).toBe(10);
    ledger.use(day("2026-03-20"), "use", 4);
    expect(pointsExpiringAt(ledger.account, of, april, day("2026-03-25"))).toBe(6);
    ledger.use(day("2026-03-21"), "all", 6);
    expect(pointsExpiringAt(ledger.account, of, april, day("2026-03-25"))).toBe(0);
    expect(pointsExpiringAt(ledger.account, of, april + 1, day("2026-04-25"))).toBe(20);
  });

  test("are none any more when the month has begun", () => {
    const of = program(3, notices(7));
    const ledger = createLedger(of);
    ledger.grant(day("2026-01-10"), "jan", 10);
    expect(pointsExpiringAt(ledger.account, of, april, day("2026-04-01"))).toBe(0);
  });

  test("are none when a lengthening moves them", () => {
    const of = program(3, notices(7));
    const ledger = createLedger(of);
    ledger.grant(day("2026-01-10"), "jan", 10);
    const longer = lengthen(of, 6, day("2026-03-20"));
    expect(pointsExpiringAt(ledger.account, longer, april, day("2026-03-25"))).toBe(0);
    const july = parseMonth("2026-07");
    expect(pointsExpiringAt(ledger.account, longer, july, day("2026-06-25"))).toBe(10);
  });
});
