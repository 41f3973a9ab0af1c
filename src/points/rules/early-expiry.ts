/** Points that end earlier than the lifetime of their program: which month's bucket takes them. */
import { DomainError } from "../../platform/words/errors.ts";
import { formatMonth, type Month } from "../../platform/words/month.ts";

/** When the points of a grant expire. With neither field, after the whole lifetime. */
export interface EarlyExpiry {
  /** They expire at the end of this month. */
  readonly expireMonth?: Month | undefined;
  /** They expire as if the lifetime had so many months: 1 ends with the month of the grant. */
  readonly expireAfterMonths?: number | undefined;
}

/**
 * Returns the month whose bucket takes points that are granted in the month `current`, of a program
 * with this lifetime: with an early expiry, the earlier month whose points expire then. Refusal:
 * LIMIT_EXCEEDED, with both ends of what is possible, as `whyImpossible`.
 */
export function bucketMonth(current: Month, lifetime: number, expiry?: EarlyExpiry): Month {
  const message = whyImpossible(current, lifetime, expiry);
  if (message === undefined) return endOf(current, lifetime, expiry) + 1 - lifetime;
  throw new DomainError("LIMIT_EXCEEDED", message, {
    earliest_expire_month: formatMonth(current),
    latest_expire_month: formatMonth(current + lifetime - 1),
  });
}

/**
 * Says why points that are granted in the month `current` cannot expire so: the month is over, or
 * ordinary points of `current` do not reach it. Undefined if they can.
 */
export function whyImpossible(
  current: Month,
  lifetime: number,
  expiry?: EarlyExpiry,
): string | undefined {
  const end = endOf(current, lifetime, expiry);
  const latest = current + lifetime - 1;
  if (end >= current && end <= latest) return undefined;
  const why = end < current ? "is over" : "is too late";
  const range = `${formatMonth(current)} to ${formatMonth(latest)}`;
  return `${formatMonth(end)} ${why}; points can expire at the end of ${range}`;
}

/** The expiry as the parameters of a request's hash, which are at their defaults without one. */
export const expiryParameters = ({ expireMonth, expireAfterMonths }: EarlyExpiry = {}) => ({
  expireMonth: expireMonth === undefined ? undefined : formatMonth(expireMonth),
  expireAfterMonths,
});

/** The month at whose end the points expire. */
const endOf = (
  current: Month,
  lifetime: number,
  { expireMonth, expireAfterMonths = lifetime }: EarlyExpiry = {},
): Month => expireMonth ?? current + expireAfterMonths - 1;
