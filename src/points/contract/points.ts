/** What all workflows over the accounts of a program share. */

/** The number of shards of a program's expiry index. */
export const shardCount = 16;

/** A shard that is left, and where it continues. */
export interface ShardLeft {
  readonly shard: number;
  /** Absent at the start of the shard. */
  readonly cursor?: string;
}

/** An account that failed in work on many accounts. The next run tries it again. */
export interface FailedAccount {
  readonly user_id: string;
  /** A reason of `words/reasons.ts`, or INTERNAL when the worker's log contains the error. */
  readonly reason: string;
}
