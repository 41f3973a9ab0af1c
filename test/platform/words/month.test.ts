/** Tests where months begin in time zones, whatever their clocks do. */
import { describe, expect, test } from "vitest";
import {
  formatInstant,
  formatMonth,
  isComputable,
  monthAt,
  monthStart,
  parseMonth,
} from "../../../src/platform/words/month.ts";

const iso = (instant: number) => new Date(instant).toISOString();
const startOf = (timeZone: string, month: string) => iso(monthStart(timeZone, parseMonth(month)));

describe("months", () => {
  test("are numbers without a gap at the year's end", () => {
    expect(parseMonth("2026-11")).toBe(24_322);
    expect(parseMonth("2027-01") - parseMonth("2026-12")).toBe(1);
    for (const text of ["1970-01", "2026-11", "2026-12", "0099-05", "9999-12"]) {
      expect(formatMonth(parseMonth(text))).toBe(text);
    }
  });

  test.each([
    ["Asia/Tokyo", "2026-11", "2026-10-31T15:00:00.000Z"],
    ["UTC", "2026-11", "2026-11-01T00:00:00.000Z"],
    ["America/New_York", "2026-11", "2026-11-01T04:00:00.000Z"],
    ["America/New_York", "2026-12", "2026-12-01T05:00:00.000Z"],
    ["Pacific/Kiritimati", "2026-11", "2026-10-31T10:00:00.000Z"],
    ["Pacific/Niue", "2026-11", "2026-11-01T11:00:00.000Z"],
    ["Asia/Kathmandu", "2026-11", "2026-10-31T18:15:00.000Z"],
    ["Australia/Lord_Howe", "2026-11", "2026-10-31T13:00:00.000Z"],
    // A leap day, and the month after it.
    ["Asia/Tokyo", "2028-02", "2028-01-31T15:00:00.000Z"],
    ["Asia/Tokyo", "2028-03", "2028-02-29T15:00:00.000Z"],
    ["Asia/Tokyo", "2027-03", "2027-02-28T15:00:00.000Z"],
  ])("in %s %s begins at %s", (timeZone, month, start) => {
    expect(startOf(timeZone, month)).toBe(start);
  });

  test("in Havana midnight of 2026-11-01 comes twice: the month begins with the first", () => {
    const timeZone = "America/Havana";
    const start = monthStart(timeZone, parseMonth("2026-11"));
    expect(iso(start)).toBe("2026-11-01T04:00:00.000Z");
    // The second midnight, an hour later, is November, too.
    for (const minutes of [0, 30, 59, 60, 61, 120]) {
      expect(formatMonth(monthAt(timeZone, start + minutes * 60_000))).toBe("2026-11");
    }
    expect(formatMonth(monthAt(timeZone, start - 1))).toBe("2026-10");
  });

  test("where midnight is skipped the month begins when the clock jumps", () => {
    // Clocks went from 0:00 to 1:00 on the first of October 2017 in Paraguay.
    const start = monthStart("America/Asuncion", parseMonth("2017-10"));
    expect(iso(start)).toBe("2017-10-01T04:00:00.000Z");
    expect(formatMonth(monthAt("America/Asuncion", start))).toBe("2017-10");
    expect(formatMonth(monthAt("America/Asuncion", start - 1))).toBe("2017-09");
  });

  test("where the clock goes back into the old month, the new month has still begun", () => {
    // At 0:01 on the first of November 2009 St. John's went back to 23:01 of October.
    const timeZone = "America/St_Johns";
    const start = monthStart(timeZone, parseMonth("2009-11"));
    expect(iso(start)).toBe("2009-11-01T02:30:00.000Z");
    expect(formatMonth(monthAt(timeZone, start - 1))).toBe("2009-10");
    // First an instant at which the clock shows October again, since its answer may be kept.
    for (const minutes of [30, 0, 1, 2, 59, 61]) {
      expect(formatMonth(monthAt(timeZone, start + minutes * 60_000))).toBe("2009-11");
    }
  });

  test("each instant is in exactly one month, in every zone", () => {
    for (const timeZone of Intl.supportedValuesOf("timeZone")) {
      for (const month of ["2026-03", "2026-04", "2026-11"].map(parseMonth)) {
        const start = monthStart(timeZone, month);
        expect(monthAt(timeZone, start)).toBe(month);
        expect(monthAt(timeZone, start - 1)).toBe(month - 1);
        expect(monthAt(timeZone, monthStart(timeZone, month + 1) - 1)).toBe(month);
      }
    }
  });

  test("what is cached of one zone does not answer for another", () => {
    const instant = Date.parse("2026-10-31T18:00:00Z");
    for (let i = 0; i < 3; i++) {
      expect(formatMonth(monthAt("Asia/Tokyo", instant))).toBe("2026-11");
      expect(formatMonth(monthAt("UTC", instant))).toBe("2026-10");
      expect(formatMonth(monthAt("Asia/Tokyo", instant - 40 * 86_400_000))).toBe("2026-09");
    }
  });
});

test("an instant is written with the offset of its zone", () => {
  const instant = Date.parse("2026-11-30T15:00:00Z");
  expect(formatInstant(instant, "Asia/Tokyo")).toBe("2026-12-01T00:00:00+09:00");
  expect(formatInstant(instant, "America/New_York")).toBe("2026-11-30T10:00:00-05:00");
});

test("zones that cannot be computed are detected", () => {
  for (const timeZone of ["Asia/Tokyo", "UTC", "America/Havana", "Etc/GMT+9"]) {
    expect(isComputable(timeZone), timeZone).toBe(true);
  }
  for (const timeZone of ["Factory", "Asia/Edo", "", " UTC"]) {
    expect(isComputable(timeZone), timeZone).toBe(false);
  }
});
