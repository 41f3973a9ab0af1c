/** What an account will hold at a later instant, by its buckets and its reservations. */
import { balanceOf, buckets, emptyAccount, expireDue } from "./account.ts";
import { DomainError } from "./errors.ts";
import { type Instant, monthAt } from "./month.ts";
import { maxBalance, type State } from "./points.ts";
import { expireTime } from "./program.ts";
import { latestExecuteTime, type Reservation } from "./reservation.ts";
import type { Points } from "./units.ts";

/** A change of the balance that is to be expected. */
export interface ForecastChange {
  readonly time: Instant;
  readonly kind: "EXPIRY" | "RESERVATION";
  /** What the balance changes by: less than 0 for an expiry, more than 0 for a reservation. */
  readonly points: Points;
  /** Absent for an expiry. */
  readonly reservationId?: string;
  /** The balance after the change. */
  readonly balance: number;
}

/** The balance of an account at `time`, if nobody uses, grants or cancels anything before. */
export interface Forecast {
  readonly time: Instant;
  readonly balance: number;
  readonly currentBalance: number;
  /** In the order in which they happen. */
  readonly changes: readonly ForecastChange[];
}

const maxChanges = 1_000;

/** Throws LIMIT_EXCEEDED for more than 1,000 changes. */
export function requireForecastable(changes: number): void {
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
 * an account is left out, because its grant would be refused. A freeze is not considered. Refusals:
 * INVALID_REQUEST for a time before `now` or more than five years ahead, LIMIT_EXCEEDED as
 * `requireForecastable`.
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
  const currentBalance = balanceOf(account);
  const changes: ForecastChange[] = [];
  let balance = currentBalance;
  let { issued } = account.totals;
  const add = (change: Omit<ForecastChange, "balance">) => {
    balance += change.points;
    changes.push({ ...change, balance });
    requireForecastable(changes.length);
  };
  // The keys are in ascending order: each grant goes to the latest month.
  const held = new Map(buckets(account).map(({ month, points }) => [month, points]));
  const expireUntil = (instant: Instant) => {
    for (const [month, points] of held) {
      const expire = expireTime(program, month);
      if (expire > instant) return;
      held.delete(month);
      add({ time: expire, kind: "EXPIRY", points: -points });
    }
  };
  for (const { executeTime, points, reservationId } of outstanding.toSorted(byExecuteTime)) {
    const due = Math.max(executeTime, start);
    if (due > time) break;
    expireUntil(due);
    if (Math.max(balance, issued) + points > maxBalance) continue;
    issued += points;
    const month = Math.max(monthAt(program.timeZone, due), account.month);
    held.set(month, (held.get(month) ?? 0) + points);
    add({ time: due, kind: "RESERVATION", points, reservationId });
  }
  expireUntil(time);
  return { time, balance, currentBalance, changes };
}

function checkTime(time: Instant, now: Instant): void {
  const latest = latestExecuteTime(now);
  if (time >= now && time <= latest) return;
  const message = time < now ? "time is in the past" : "time is more than five years ahead";
  throw new DomainError("INVALID_REQUEST", message, { field: "time" });
}

const byExecuteTime = (a: Reservation, b: Reservation): number =>
  a.executeTime - b.executeTime || (a.reservationId < b.reservationId ? -1 : 1);
