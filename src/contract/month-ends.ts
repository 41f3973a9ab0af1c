/** The month-end sweep of a program, which expires what is due. */
import type { FailedAccount } from "./points.ts";

/** The id of a program's month-end schedule. */
export const monthEndId = (programId: string): string => `month-end/${programId}`;

/** The failure type of a month end in which accounts failed. */
export const monthEndIncomplete = "MONTH_END_INCOMPLETE";

/** Expires what is due in the accounts of one shard of a program's expiry index. */
export interface ExpireShardInput {
  readonly program: string;
  readonly shard: number;
  readonly cursor?: string;
}

/** The progress within a shard. At its end there is no cursor. */
export interface ExpireShardResult {
  /** The number of accounts in which points expired. */
  readonly settled: number;
  /** The number of unchanged accounts. */
  readonly vain: number;
  /** The number of accounts that failed, such as one that is behind its ledger. */
  readonly failed: number;
  /** The first 100 accounts that failed. */
  readonly failures: readonly FailedAccount[];
  readonly cursor?: string;
}

/** Starts a month-end sweep of a program. */
export interface MonthEndInput {
  readonly program: string;
  /** Set by continue-as-new: the shards that are left, and the counts so far. */
  readonly shards?: readonly { readonly shard: number; readonly cursor?: string }[];
  readonly settled?: number;
  readonly vain?: number;
  readonly failed?: number;
  readonly failures?: readonly FailedAccount[];
  readonly months?: MonthEndMonths;
}

/** The months of a month end, such as `"2026-11"`. */
export interface MonthEndMonths {
  /** The month that has ended. */
  readonly month: string;
  /** The latest month whose granted points have expired with it. */
  readonly grantedUpTo: string;
}

/** The counts of a month-end sweep, as in `ExpireShardResult`. */
export interface MonthEndResult {
  readonly settled: number;
  readonly vain: number;
  readonly failed: number;
  readonly months: MonthEndMonths;
  /** The months, the counts and the first accounts that failed, as a sentence. */
  readonly report: string;
}

/** The details of the failure of a month end in which accounts failed. */
export interface MonthEndFailure extends MonthEndResult {
  /** The first 100 accounts. */
  readonly failures: readonly FailedAccount[];
}
