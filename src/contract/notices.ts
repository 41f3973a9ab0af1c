/** The notices of points that expire soon. */
import type { FailedAccount } from "./points.ts";

/** The id of the schedule that notifies the members of a program of points that expire soon. */
export const expiryNoticesId = (programId: string): string => `expiry-notices/${programId}`;

/** The failure type of a run in which accounts failed. */
export const expiryNoticesIncomplete = "EXPIRY_NOTICES_INCOMPLETE";

/** The counts of notices of expiry. */
export interface ExpiryNoticesCounts {
  /** The number of accounts with points that expire, whose owners were notified now or before. */
  readonly notified: number;
  /** The number of accounts of which nothing expires. */
  readonly unaffected: number;
  /** The number of accounts that failed. */
  readonly failed: number;
  /** The first 100 accounts that failed. */
  readonly failures: readonly FailedAccount[];
}

/** Starts the notices of expiry of a program. */
export interface ExpiryNoticesInput extends Partial<ExpiryNoticesCounts> {
  readonly program_id: string;
  /** Set by continue-as-new, with the counts so far: the month of the run. */
  readonly month?: string;
  /** Set by continue-as-new: the shards that are left. */
  readonly shards?: readonly { readonly shard: number; readonly cursor?: string }[];
}

/** Which points members are notified of now. */
export interface AnnouncedMonth {
  /** The month at whose start the points expire, such as `"2026-12"`. Absent: notify nobody. */
  readonly month?: string;
}

/** Notifies the owners of the accounts of one shard of a program's expiry index. */
export interface NotifyShardInput {
  readonly program_id: string;
  readonly shard: number;
  readonly month: string;
  readonly cursor?: string;
}

/** The progress within a shard. At its end there is no cursor. */
export interface NotifyShardResult extends ExpiryNoticesCounts {
  readonly cursor?: string;
}

/** The result of a run. */
export interface ExpiryNoticesResult extends Omit<ExpiryNoticesCounts, "failures"> {
  /** Absent when nobody was to be notified. */
  readonly month?: string;
  /** The month, the counts and the first accounts that failed, as a sentence. */
  readonly report: string;
}
