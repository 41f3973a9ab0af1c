/** Scans of the tables, from which the changes that a stream has lost are made again. */
import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { AccountName } from "../../points/ports/points.ts";
import type { Account } from "../../points/rules/account.ts";
import type { StoredRecord, StreamedTable } from "./changes.ts";

/** One of `segments` disjoint segments of a table. */
export interface ScanSegment {
  readonly segment: number;
  readonly segments: number;
}

/** An item that has records of streamed kinds. */
export interface ScannedItem {
  /** Its keys, with a blank between them. */
  readonly keys: string;
  /** Undefined when it cannot be decoded. */
  readonly records: readonly StoredRecord[] | undefined;
}

export interface RecordScan {
  /**
   * Lists the items of a table that hold records of streamed kinds, in a segment of it. Reads every
   * item of the segment, `size` of them a page, so pages may be empty. Strongly consistent. Ledgers
   * are not scanned: `accounts` finds those that have changed.
   */
  items(
    table: Exclude<StreamedTable, "points">,
    segment: ScanSegment,
    page: PageRequest,
  ): Promise<Page<ScannedItem>>;
  /** Lists all programs. Strongly consistent. */
  programs(page: PageRequest): Promise<Page<ScannedItem>>;
  /** Lists the accounts of all programs, always in the same order. Strongly consistent. */
  accounts(page: PageRequest): Promise<Page<Account>>;
  /** The cursor behind an account in that list. */
  cursorOfAccount(account: AccountName): string;
}
