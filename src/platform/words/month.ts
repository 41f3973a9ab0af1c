/** Months, instants and the time zone arithmetic between them. */
import { Temporal } from "temporal-polyfill";
import type { Unit } from "./units.ts";

/** Milliseconds since the Unix epoch. */
export type Instant = Unit<"instant">;

/** An absolute month: 12 × year + month − 1. The month 2026-11 is 24322. */
export type Month = Unit<"month">;

/** Whether a text is a month such as `"2026-11"`. */
export const isMonth = (text: string): boolean => /^\d{4}-(0[1-9]|1[0-2])$/.test(text);

/** Parses `"2026-11"`. */
export function parseMonth(text: string): Month {
  const [year, month] = text.split("-").map(Number) as [number, number];
  return 12 * year + month - 1;
}

/** Formats a month as `"2026-11"`. */
export function formatMonth(month: Month): string {
  const year = Math.floor(month / 12);
  return `${String(year).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}`;
}

/** Formats an instant as RFC 3339 with the offset of a zone: "2026-12-01T00:00:00+09:00". */
export function formatInstant(instant: Instant, timeZone: string): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone);
  return zoned.toString({ timeZoneName: "never" });
}

/**
 * Returns whether a text is a time of RFC 3339 as Protobuf takes it in JSON: of a day that exists,
 * in the years 1 to 9999, with at most nine digits of a second.
 */
export function isTimestamp(text: string): boolean {
  const form = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
  if (!form.test(text)) return false;
  try {
    const { epochMilliseconds } = Temporal.Instant.from(text);
    return firstTimestamp <= epochMilliseconds && epochMilliseconds <= lastTimestamp;
  } catch {
    return false;
  }
}

/** Reads a time of RFC 3339, as `isTimestamp` knows it. */
export const parseInstant = (text: string): Instant => Date.parse(text);

const firstTimestamp = parseInstant("0001-01-01T00:00:00Z");
const lastTimestamp = parseInstant("9999-12-31T23:59:59.999Z");

/** Returns whether ICU has the zone, so that this process can compute its months. */
export function isComputable(timeZone: string): boolean {
  try {
    return Number.isFinite(computeMonthStart(timeZone, epoch));
  } catch {
    return false;
  }
}

/**
 * Returns the month that contains `instant`: the last one whose first instant is not after it.
 */
export function monthAt(timeZone: string, instant: Instant): Month {
  const cached = currentMonths.get(timeZone);
  if (cached && cached.start <= instant && instant < cached.end) return cached.month;
  const local = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone);
  let month = 12 * local.year + local.month - 1;
  if (instant >= monthStart(timeZone, month + 1)) month += 1;
  const range = { month, start: monthStart(timeZone, month), end: monthStart(timeZone, month + 1) };
  currentMonths.set(timeZone, range);
  return month;
}

/**
 * Returns the first instant of `month` in the zone. Where a clock change repeats its midnight, this
 * is the earlier one.
 */
export function monthStart(timeZone: string, month: Month): Instant {
  const key = `${timeZone} ${month}`;
  const cached = monthStarts.get(key);
  if (cached !== undefined) return cached;
  const start = computeMonthStart(timeZone, month);
  if (monthStarts.size > 10_000) monthStarts.clear();
  monthStarts.set(key, start);
  return start;
}

// Every call needs time zone arithmetic, which costs microseconds. Both functions are pure, so the
// caches do not change their results.
const monthStarts = new Map<string, Instant>();
const currentMonths = new Map<string, { month: Month; start: Instant; end: Instant }>();

function computeMonthStart(timeZone: string, month: Month): Instant {
  return Temporal.PlainYearMonth.from(formatMonth(month))
    .toPlainDate({ day: 1 })
    .toZonedDateTime(timeZone).epochMilliseconds;
}

const epoch: Month = 12 * 1970;
