import { Temporal } from "temporal-polyfill";

/** Milliseconds since the Unix epoch. */
export type Instant = number;

/** An absolute month: 12 × year + month − 1, so that 2026-11 is 24322. */
export type Month = number;

/** The month of `"2026-11"`. */
export function parseMonth(text: string): Month {
  const [year, month] = text.split("-").map(Number) as [number, number];
  return 12 * year + month - 1;
}

/** `"2026-11"` of a month. */
export function formatMonth(month: Month): string {
  const year = Math.floor(month / 12);
  return `${String(year).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}`;
}

/** RFC 3339 with the zone behind it: `2026-12-01T00:00:00+09:00[Asia/Tokyo]`. */
export function formatInstant(instant: Instant, timeZone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).toString();
}

/** True when ICU knows the zone, so that its months can be computed here. */
export function isComputable(timeZone: string): boolean {
  try {
    return Number.isFinite(startOf(epoch, timeZone));
  } catch {
    return false;
  }
}

/** The first instant of `month` in `zone`; where its midnight comes twice, the earlier one. */
export function monthStart(timeZone: string, month: Month): Instant {
  const key = `${timeZone} ${month}`;
  const known = starts.get(key);
  if (known !== undefined) return known;
  const start = startOf(month, timeZone);
  if (starts.size > 10_000) starts.clear();
  starts.set(key, start);
  return start;
}

/** The month that `instant` lies in: the last one whose first instant is not after it. */
export function monthAt(timeZone: string, instant: Instant): Month {
  const cached = current.get(timeZone);
  if (cached && cached.start <= instant && instant < cached.end) return cached.month;
  const local = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone);
  let month = 12 * local.year + local.month - 1;
  if (instant >= monthStart(timeZone, month + 1)) month += 1;
  const range = { month, start: monthStart(timeZone, month), end: monthStart(timeZone, month + 1) };
  current.set(timeZone, range);
  return month;
}

// Time zone arithmetic costs microseconds and is asked for on every call: both answers are pure
// functions of their arguments, so remembering them changes nothing but the time they take.
const starts = new Map<string, Instant>();
const current = new Map<string, { month: Month; start: Instant; end: Instant }>();

const epoch: Month = 12 * 1970;

function startOf(month: Month, timeZone: string): Instant {
  return Temporal.PlainYearMonth.from(formatMonth(month))
    .toPlainDate({ day: 1 })
    .toZonedDateTime(timeZone).epochMilliseconds;
}
