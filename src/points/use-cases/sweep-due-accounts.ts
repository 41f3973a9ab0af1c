/** Sweeps the accounts of one shard of the expiry index. */

import type { Month } from "../../platform/words/month.ts";
import { storeOutages } from "../../platform/work/suspects.ts";
import { type SweepCounts, type SweepPlace, sweep } from "../../platform/work/sweep.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";

const pageSize = 32;

/** An account in heartbeats and reports. */
interface DueAccount {
  readonly userId: string;
}

/** The place in a shard from which another call can continue. */
export type DueAccountsPlace = SweepPlace<DueAccount>;

/** The counts of the accounts by what was done with them, and of those that failed. */
export type DueAccountsCounts<Outcome extends string> = SweepCounts<DueAccount> &
  Readonly<Record<Outcome, number>>;

/** One shard of the expiry index of a program. */
export interface DueAccountsShard {
  readonly programId: string;
  readonly shard: number;
}

/** Which accounts are swept, and what is done with each. */
interface DueAccountsWork<Outcome extends string> extends DueAccountsShard {
  /** Accounts are due whose oldest month may be this one or an earlier one. */
  readonly month: Month;
  /** The number of accounts of the shard that are processed concurrently. */
  readonly concurrency: number;
  /** Returns which of the counts the account adds to. */
  process(account: AccountName): Promise<Outcome>;
  onFailed(userId: string, error: unknown): void;
}

/**
 * Processes the due accounts of a shard, as `sweep` does: an account that fails or is throttled is
 * counted and named, and an outage of store or clock ends the sweep with its error.
 */
export function sweepDueAccounts<Outcome extends string, Counts extends DueAccountsCounts<Outcome>>(
  { reader }: Pick<Deps, "reader">,
  { programId, shard, month, concurrency, process, onFailed }: DueAccountsWork<Outcome>,
  start: Counts,
  place: DueAccountsPlace,
  shouldContinue: (progress: Counts & DueAccountsPlace) => boolean,
): Promise<Counts & { readonly cursor?: string }> {
  return sweep(
    {
      read: (cursor) => reader.dueAccounts(programId, shard, month, { size: pageSize, cursor }),
      process,
      add: (counts: Counts, outcome: Outcome): Counts => ({
        ...counts,
        [outcome]: counts[outcome] + 1,
      }),
      nameOf: ({ userId }) => ({ userId }),
      keyOf: ({ userId }) => userId,
      onFailed: ({ userId }, error) => onFailed(userId, error),
      concurrency,
      outages: storeOutages,
      outageAfter: pageSize,
    },
    start,
    place,
    shouldContinue,
  );
}
