/** When members are notified of points that expire soon, and how many points an account loses. */

import { type Instant, type Month, monthAt, monthStart } from "../../platform/words/month.ts";
import { type Account, buckets, expireDue, expireTime } from "./account.ts";
import type { Program } from "./program.ts";

const dayMs = 86_400_000;

/**
 * Returns the month at whose start points expire next, if members are to be notified at `now`. The
 * schedule runs `expiryDays` days before that start, and in a leap February one day more, so the
 * notices begin one day more before it. Returns undefined for a program without notices of expiry,
 * and before that day: a run that Temporal has caught up a month late, or that an earlier setting
 * of the days has started, would otherwise notify too early.
 */
export function announcedMonth(program: Program, now: Instant): Month | undefined {
  const days = program.notices?.expiryDays ?? 0;
  const month = monthAt(program.timeZone, now) + 1;
  const begin = monthStart(program.timeZone, month) - (days + 1) * dayMs;
  return days > 0 && now >= begin ? month : undefined;
}

/**
 * Returns how many points of the account, as it is at `now`, expire at the start of `month`; 0 when
 * that is past. Throws PROGRAM_STALE.
 */
export function pointsExpiringAt(
  account: Account,
  program: Program,
  month: Month,
  now: Instant,
): number {
  const expire = monthStart(program.timeZone, month);
  const { account: current } = expireDue(account, program, now);
  return buckets(current)
    .filter((bucket) => expireTime(program, bucket.month, current.time) === expire)
    .reduce((sum, { points }) => sum + points, 0);
}
