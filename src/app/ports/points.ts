/** Reads of accounts and their ledgers. */
import type { EntryType, LedgerEntry } from "../../domain/ledger.ts";
import type { Month } from "../../domain/month.ts";
import type { NumberRange } from "../../domain/rebuild.ts";
import type { Page, PageRequest } from "./pages.ts";

export { shardCount } from "../../contract.ts";

/** Names an account. */
export interface AccountName {
  readonly programId: string;
  readonly userId: string;
}

/** Which entries of a ledger to list, and in which order. Both numbers are included. */
export interface LedgerQuery {
  readonly from: number;
  readonly to: number;
  readonly newestFirst: boolean;
  /** Empty: all types. */
  readonly types: readonly EntryType[];
}

export interface PointsReader {
  entries(name: AccountName, query: LedgerQuery, page: PageRequest): Promise<Page<LedgerEntry>>;
  /**
   * Every entry of a ledger in the order in which it is stored, including a second entry of a
   * number. `size` counts items: each is read once, with all entries that are packed into it.
   */
  storedEntries(name: AccountName, page: PageRequest): Promise<Page<LedgerEntry>>;
  /**
   * The copies that event keys keep of an account's entries with these numbers, `segment` of
   * `segments` disjoint parts. Reads the whole table. Pages may be empty. Lags behind by moments.
   */
  entryCopies(
    name: AccountName,
    numbers: NumberRange,
    segment: number,
    segments: number,
    page: PageRequest,
  ): Promise<Page<LedgerEntry>>;
  /** Accounts whose oldest month may be `month` or before. Lags behind by moments. */
  dueAccounts(
    programId: string,
    shard: number,
    month: Month,
    page: PageRequest,
  ): Promise<Page<AccountName>>;
  /** All accounts of a program, `segment` of `segments` disjoint parts. Pages may be empty. */
  accounts(
    programId: string,
    segment: number,
    segments: number,
    page: PageRequest,
  ): Promise<Page<AccountName>>;
}
