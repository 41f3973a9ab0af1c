/** Reads of accounts and their ledgers. */

import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { Month } from "../../platform/words/month.ts";
import type { Account } from "../rules/account.ts";
import type { Job } from "../rules/jobs.ts";
import type { EntryType, LedgerEntry } from "../rules/ledger.ts";
import type { NumberRange } from "../rules/rebuild.ts";

export { shardCount } from "../contract/points.ts";

/** Names an account. */
export interface AccountName {
  readonly programId: string;
  readonly userId: string;
}

/** The entries of a ledger to list, and their order. Both numbers are included. */
export interface LedgerQuery {
  readonly from: number;
  readonly to: number;
  readonly newestFirst: boolean;
  /** An empty list means all types. */
  readonly types: readonly EntryType[];
}

export interface PointsReader {
  entries(name: AccountName, query: LedgerQuery, page: PageRequest): Promise<Page<LedgerEntry>>;
  /**
   * Lists all entries of a ledger in the order in which they are stored, including a second entry
   * of a number. `size` counts items: each is read once, with all its packed entries.
   */
  storedEntries(name: AccountName, page: PageRequest): Promise<Page<LedgerEntry>>;
  /**
   * Lists the copies of an account's entries with these numbers, which their event keys contain,
   * from `segment` of `segments` disjoint segments. All together read the whole table. Pages may
   * be empty. Lags behind by moments.
   */
  entryCopies(
    name: AccountName,
    numbers: NumberRange,
    segment: number,
    segments: number,
    page: PageRequest,
  ): Promise<Page<LedgerEntry>>;
  /** Lists the accounts whose oldest month may be `month` or earlier. Lags behind by moments. */
  dueAccounts(
    programId: string,
    shard: number,
    month: Month,
    page: PageRequest,
  ): Promise<Page<AccountName>>;
  /** Lists the accounts in `segment` of `segments` disjoint segments. Pages may be empty. */
  accounts(
    programId: string,
    segment: number,
    segments: number,
    page: PageRequest,
  ): Promise<Page<Account>>;
  /** The cursor behind an account in the list of its segment. */
  cursorOfAccount(account: AccountName): string;
  /** Lists the jobs of one kind of a program by their ids. */
  jobs(programId: string, kind: string, page: PageRequest): Promise<Page<Job>>;
  /**
   * Lists the entries of a ledger from the item on that may hold a number, in the order of their
   * numbers. `size` counts items. Strongly consistent.
   */
  ledgerFrom(name: AccountName, from: number, page: PageRequest): Promise<Page<StoredEntry>>;
}

/** Removes the snapshot of a ledger entry. Throws THROTTLED and STORE_UNAVAILABLE. */
export type RemoveSnapshot = (name: AccountName, number: number) => Promise<void>;

/** An entry as it is stored. Without `entry` it cannot be read, and `error` says why. */
export interface StoredEntry {
  readonly userId: string;
  readonly number: number;
  readonly entry?: LedgerEntry;
  readonly error?: unknown;
}
