/** The notices of points that expire soon. */
import type { ProgramInput, ShardLeft } from "./payloads.ts";
import type { FailureCounts } from "./points.ts";

/** The id of the schedule that notifies the members of a program of points that expire soon. */
export const expiryNoticesId = (programId: string): string => `expiry-notices/${programId}`;

/** The failure type of a run in which accounts failed. */
export const expiryNoticesIncomplete = "EXPIRY_NOTICES_INCOMPLETE";

/** Starts the notices of expiry of a program. */
export interface ExpiryNoticesInput extends ProgramInput {
  /** Set by continue-as-new. */
  readonly so_far?: ExpiryNoticesProgress;
}

/** The results of the runs before this one, and the shards that they have left. */
interface ExpiryNoticesProgress {
  /** The month at whose start the points expire, such as `"2026-12"`. */
  readonly month: string;
  readonly sum: ExpiryNoticesCounts;
  readonly left: readonly ShardLeft[];
}

/** Which points members are notified of now. */
export interface AnnouncedMonth {
  /** The month at whose start the points expire, such as `"2026-12"`. Absent: notify nobody. */
  readonly month?: string;
}

/** The counts of accounts. */
export interface ExpiryNoticesCounts extends FailureCounts {
  /** Accounts with points that expire, whose owners were notified now or before. */
  readonly notified: number;
  /** Accounts of which nothing expires. */
  readonly unaffected: number;
}

/** The progress within a shard. At its end there is no cursor. */
export interface NotifyShardResult extends ExpiryNoticesCounts {
  readonly cursor?: string | undefined;
}

/** The result of a run. */
export interface ExpiryNoticesResult extends Omit<ExpiryNoticesCounts, "failures"> {
  /** Absent when nobody was to be notified. */
  readonly month?: string;
  /** The month, the counts and the first accounts that failed, as a sentence. */
  readonly report: string;
}
