/** Maps times and integers between messages and the domain. */
import { type Duration, type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { formatMonth, type Instant, type Month, parseMonth } from "../words/month.ts";
import { invalid } from "./invalid-request.ts";

/** A timestamp in whole milliseconds; smaller fractions are cut off. Refuses times before 1970. */
export function toInstant(time: Timestamp, field: string): Instant {
  const ms = toMilliseconds(time, field);
  if (ms < 0) throw invalid(field, "1970 or later");
  return ms;
}

/** A duration in whole milliseconds; smaller fractions are cut off. */
export function toMilliseconds({ seconds, nanos }: Duration | Timestamp, field: string): number {
  if (nanos < 0 || nanos > 999_999_999) throw invalid(field, "nanos: 0 to 999,999,999");
  const ms = seconds * 1_000n + BigInt(Math.floor(nanos / 1_000_000));
  return toSafeInteger(ms, field);
}

export const toOptionalInstant = (time: Timestamp | undefined, field: string) =>
  time && toInstant(time, field);

export const fromInstant = (time: Instant): Timestamp => timestampFromMs(time);

export const fromOptionalInstant = (time: Instant | undefined): Timestamp | undefined =>
  time === undefined ? undefined : fromInstant(time);

/** An int64 as a number. Refuses values above 2^53 - 1, which a number cannot hold exactly. */
export function toSafeInteger(value: bigint, field: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw invalid(field, "at most 9,007,199,254,740,991");
  return number;
}

/** A month such as `2026-11`, whose form the schema requires; undefined for an empty text. */
export const toOptionalMonth = (text: string): Month | undefined =>
  text === "" ? undefined : parseMonth(text);

export const fromOptionalMonth = (month: Month | undefined): string =>
  month === undefined ? "" : formatMonth(month);

/**
 * Returns a text that is in Unicode's form NFC, as the rules of the schema cannot say. Refusal:
 * INVALID_REQUEST for another form: it looks the same and would be another name.
 */
export function toNfc(text: string, field: string): string {
  if (text.normalize("NFC") === text) return text;
  throw invalid(field, "is not in Unicode's form NFC");
}
