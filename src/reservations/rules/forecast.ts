/** Forecasts the points of an account at a later instant, by its buckets and reservations. */

import { DomainError } from "../../platform/words/errors.ts";
import { type Instant, type Month, monthAt } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import {
  availablePointsOf,
  buckets,
  emptyAccount,
  expireDue,
  expireTime,
  lifetimeAt,
} from "../../points/rules/account.ts";
import { bucketMonth, whyImpossible } from "../../points/rules/early-expiry.ts";
import { maxBalance, type State } from "../../points/rules/points.ts";
import { latestExecuteTime, type Reservation } from "./reservation.ts";

/** A change of the available points that is to be expected. */
export interface ForecastChange {
  readonly time: Instant;
  readonly cause: "EXPIRY" | "RESERVATION";
  /** By how much the points change: less than 0 for an expiry, more than 0 for a reservation. */
  readonly points: Points;
  /** Absent for an expiry. */
  readonly reservationId?: string;
  /** The available points after the change. */
  readonly availablePoints: number;
}

/** The points of an account at `time`, if nobody uses, grants or cancels points before. */
export interface Forecast {
  readonly time: Instant;
  readonly availablePoints: number;
  readonly currentAvailablePoints: number;
  /** In the order in which they happen. */
  readonly changes: readonly ForecastChange[];
}

const maxChanges = 1_000;

/** Throws LIMIT_EXCEEDED for more than 1,000 changes. */
function requireForecastable(changes: number): void {
  if (changes <= maxChanges) return;
  throw new DomainError("LIMIT_EXCEEDED", `a forecast has at most ${maxChanges} changes`, {
    limit: String(maxChanges),
  });
}

/**
 * Whether the points of a reservation are still to come for an account whose last entry is `last`:
 * it is pending, or its grant was committed after the account was read.
 */
export function isOutstanding({ state, grant }: Reservation, last: number): boolean {
  return state === "PENDING" || (grant !== undefined && grant.entryNumber > last);
}

/**
 * Plays expiries and outstanding reservations up to `time`. An overdue reservation counts as
 * granted now. At one instant expiries come first, because a grant at that instant belongs to the
 * month that begins. The points of a reservation expire as well. One that would exceed the limit of
 * an account, or whose month of expiry is over, is left out, because its grant would be refused. A
 * freeze is not considered. Refusals: INVALID_REQUEST for a time before `now` or more than five
 * years ahead, LIMIT_EXCEEDED as `requireForecastable`.
 */
export function forecast(
  { program, userId, account: stored, now }: State,
  outstanding: readonly Reservation[],
  time: Instant,
): Forecast {
  checkTime(time, now);
  const { account } = expireDue(stored ?? emptyAccount(program, userId, now), program, now);
  // The time of an account never goes back, even when the clock of a server does.
  const start = Math.max(now, account.time);
  const currentAvailablePoints = availablePointsOf(account);
  const changes: ForecastChange[] = [];
  let availablePoints = currentAvailablePoints;
  let { issuedPoints } = account.totals;
  const add = (change: Omit<ForecastChange, "availablePoints">) => {
    availablePoints += change.points;
    changes.push({ ...change, availablePoints });
    requireForecastable(changes.length);
  };
  // Points by the instant of their expiry.
  const held = new Map<Instant, number>();
  const hold = (month: Month, points: Points, since: Instant) => {
    const expire = expireTime(program, month, since);
    held.set(expire, (held.get(expire) ?? 0) + points);
  };
  for (const { month, points } of buckets(account)) hold(month, points, account.time);
  const expireUntil = (instant: Instant) => {
    for (const [expire, points] of [...held].sort(([a], [b]) => a - b)) {
      if (expire > instant) return;
      held.delete(expire);
      add({ time: expire, cause: "EXPIRY", points: -points });
    }
  };
  for (const { executeTime, points, reservationId, expiry } of outstanding.toSorted(byTime)) {
    const due = Math.max(executeTime, start);
    if (due > time) break;
    expireUntil(due);
    const current = Math.max(monthAt(program.timeZone, due), account.month);
    const lifetime = lifetimeAt(program, due);
    const isFull = Math.max(availablePoints, issuedPoints) + points > maxBalance;
    if (isFull || whyImpossible(current, lifetime, expiry) !== undefined) continue;
    issuedPoints += points;
    hold(bucketMonth(current, lifetime, expiry), points, due);
    add({ time: due, cause: "RESERVATION", points, reservationId });
  }
  expireUntil(time);
  return { time, availablePoints, currentAvailablePoints, changes };
}

function checkTime(time: Instant, now: Instant): void {
  const latest = latestExecuteTime(now);
  if (time >= now && time <= latest) return;
  const message = time < now ? "time is in the past" : "time is more than five years ahead";
  throw new DomainError("INVALID_REQUEST", message, { field: "time" });
}

const byTime = (a: Reservation, b: Reservation): number =>
  a.executeTime - b.executeTime || (a.reservationId < b.reservationId ? -1 : 1);
