/** The month-end sweep of a program, which expires what is due. */
import type { ProgramInput, ShardLeft } from "./payloads.ts";
import type { FailureCounts } from "./points.ts";

/** The id of a program's month-end schedule. */
export const monthEndId = (programId: string): string => `month-end/${programId}`;

/** The task queue of the shards of month ends, of which all workers get the same number. */
export const monthEndTaskQueue = (taskQueue: string): string => `${taskQueue}-month-ends`;

/** The failure type of a month end in which accounts failed. */
export const monthEndIncomplete = "MONTH_END_INCOMPLETE";

/** Starts a month-end sweep of a program. */
export interface MonthEndInput extends ProgramInput {
  /** Set by continue-as-new. */
  readonly so_far?: MonthEndProgress;
}

/** The results of the runs before this one, and the shards that they have left. */
interface MonthEndProgress {
  readonly months: MonthEndMonths;
  readonly sum: MonthEndCounts;
  readonly left: readonly ShardLeft[];
}

/** The months of a month end, such as `"2026-11"`. */
export interface MonthEndMonths {
  /** The month that has ended. */
  readonly month: string;
  /** The latest month whose granted points have expired with it. */
  readonly granted_up_to: string;
}

/** The counts of accounts. */
export interface MonthEndCounts extends FailureCounts {
  /** Accounts in which points expired. */
  readonly expired: number;
  /** Accounts in which nothing was due. */
  readonly unchanged: number;
}

/** The progress within a shard. At its end there is no cursor. */
export interface ExpireShardResult extends MonthEndCounts {
  readonly cursor?: string | undefined;
}

/** The result of a month-end sweep. */
export interface MonthEndResult extends Omit<MonthEndCounts, "failures"> {
  readonly months: MonthEndMonths;
  /** The months, the counts and the first accounts that failed, as a sentence. */
  readonly report: string;
}

/** The details of the failure of a month end in which accounts failed. */
export interface MonthEndFailure extends MonthEndCounts, MonthEndResult {}
