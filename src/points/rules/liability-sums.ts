/** The sums of what a program owes, over some of its accounts. */

import type { FailedAccount } from "./jobs.ts";

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
  /** What became of points in the period, by the names of `Totals`. */
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
