/** The liability of a program: sums over its accounts at an instant, and since another one. */

import type { Instant, Month } from "../../platform/words/month.ts";
import { type Account, buckets, expireTime } from "./account.ts";
import type { FailedAccount } from "./jobs.ts";
import { heldNow } from "./ledger.ts";
import { programAsOf } from "./past.ts";
import type { Program } from "./program.ts";

/** Sums by name, as decimals: those of many accounts may exceed the safe integers of one. */
type Sums = Readonly<Record<string, string>>;

/** The sum over some accounts. It is plain JSON of bounded size, which heartbeats contain. */
export interface Liability {
  /** The number of accounts that existed. */
  readonly accounts: number;
  /** The number of accounts with points, held ones included. */
  readonly members: number;
  /** The outstanding points by month of grant: the number of the month. */
  readonly months: Sums;
  /** The points changed in the period, by the names of `Totals`. */
  readonly totals: Sums;
  /** The points that are held, which are in no month; absent when there are none. */
  readonly held?: string;
}

export const noLiability: Liability = { accounts: 0, members: 0, months: {}, totals: {} };

/** A sum, and the accounts that could not be added. */
export interface CountedLiability extends Liability {
  readonly failed: number;
  /** The first 100 of them. */
  readonly failures: readonly FailedAccount[];
}

/** The points that were granted in a month and are outstanding, and when they expire. */
interface LiabilityBucket {
  readonly month: Month;
  readonly expireTime: Instant;
  readonly points: string;
}

/**
 * Returns what one account adds: `end` is the account as of the end of the period, `start` as of
 * its start, both after the expiry of what was due. Without a start the period is all time.
 */
export function liabilityOf(end: Account, start: Account | undefined): Liability {
  if (end.last === 0) return noLiability;
  const outstanding = buckets(end);
  const heldPoints = heldNow(end.totals);
  const before: Readonly<Record<string, number>> = { ...start?.totals };
  return {
    accounts: 1,
    members: outstanding.length > 0 || heldPoints > 0 ? 1 : 0,
    ...(heldPoints > 0 && { held: String(heldPoints) }),
    months: Object.fromEntries(outstanding.map(({ month, points }) => [month, String(points)])),
    totals: Object.fromEntries(
      Object.entries(end.totals).map(([name, points]) => [
        name,
        String(points - (before[name] ?? 0)),
      ]),
    ),
  };
}

/**
 * Returns the outstanding points of a report, and its months, oldest first, with the instants at
 * which they expire by the lifetimes that had taken effect at `asOf`.
 */
export function outstandingOf(
  program: Program,
  { months }: Pick<Liability, "months">,
  asOf: Instant,
): { readonly outstanding: bigint; readonly buckets: readonly LiabilityBucket[] } {
  const past = programAsOf(program, asOf);
  const buckets = Object.entries(months).map(([month, points]) => ({
    month: Number(month),
    expireTime: expireTime(past, Number(month), asOf),
    points,
  }));
  return {
    outstanding: buckets.reduce((sum, { points }) => sum + BigInt(points), 0n),
    buckets: buckets.toSorted((a, b) => a.month - b.month),
  };
}
