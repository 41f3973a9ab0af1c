/** Sweeps the accounts of a program, or those of one shard of its expiry index. */
import type { Month } from "../../platform/words/month.ts";
import {
  type Sweep,
  type SweepCounts,
  type SweepCursor,
  sweep,
} from "../../platform/work/sweep.ts";
import { storeOutages } from "../../platform/work/unconfirmed-failures.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";

/** An account in heartbeats and reports. */
interface NamedAccount {
  readonly userId: string;
}

/** The cursor of an account sweep, from which another call can continue. */
export type AccountsCursor = SweepCursor<NamedAccount>;

/** The work on each account. */
interface AccountsWork<T, Outcome, Counts>
  extends Pick<
    Sweep<T, NamedAccount, Outcome, Counts>,
    "read" | "process" | "add" | "concurrency" | "outageAfter"
  > {
  onFailed(userId: string, error: unknown): void;
}

/**
 * Processes accounts as `sweep` does: one that fails or is throttled is counted and named, and an
 * outage of store or clock ends the sweep with its error.
 */
export const sweepAccounts = <
  T extends NamedAccount,
  Outcome,
  Counts extends SweepCounts<NamedAccount>,
>(
  { onFailed, ...work }: AccountsWork<T, Outcome, Counts>,
  start: Counts,
  from: AccountsCursor,
  shouldContinue: (progress: Counts & AccountsCursor) => boolean,
): Promise<Counts & { readonly cursor?: string | undefined }> =>
  sweep(
    {
      ...work,
      nameOf: ({ userId }) => ({ userId }),
      keyOf: ({ userId }) => userId,
      onFailed: ({ userId }, error) => onFailed(userId, error),
      outages: storeOutages,
    },
    start,
    from,
    shouldContinue,
  );

const pageSize = 32;

/** The counts of the accounts by what was done with them, and of those that failed. */
export type DueAccountsCounts<Outcome extends string> = SweepCounts<NamedAccount> &
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

/** Processes the due accounts of a shard. */
export const sweepDueAccounts = <Outcome extends string, Counts extends DueAccountsCounts<Outcome>>(
  { reader }: Pick<Deps, "reader">,
  { programId, shard, month, ...work }: DueAccountsWork<Outcome>,
  start: Counts,
  from: AccountsCursor,
  shouldContinue: (progress: Counts & AccountsCursor) => boolean,
): Promise<Counts & { readonly cursor?: string | undefined }> =>
  sweepAccounts(
    {
      ...work,
      read: (cursor) => reader.dueAccounts(programId, shard, month, { size: pageSize, cursor }),
      add: (counts: Counts, outcome: Outcome): Counts => ({
        ...counts,
        [outcome]: counts[outcome] + 1,
      }),
      outageAfter: pageSize,
    },
    start,
    from,
    shouldContinue,
  );
