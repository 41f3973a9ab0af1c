/** Scans of whole tables, for tools that compare the tables with each other. */
import type { Page, PageRequest } from "../platform/ports/pages.ts";
import type { Kind, Records, Ref } from "../platform/ports/records.ts";

/** A record with its name. */
export type Scanned<K extends Kind> = {
  readonly [Each in K]: Ref<Each> & { readonly value: Records[Each] };
}[K];

/** One of `segments` disjoint segments of a table. */
interface ScanSegment {
  readonly segment: number;
  readonly segments: number;
}

/** The kinds of records that can be scanned. Those of other kinds are found by their names. */
export type ScannedKind =
  | "account"
  | "event"
  | "reservation"
  | "hold"
  | "bulkGrant"
  | "target"
  | "reaction"
  | "notificationEvent"
  | "inbox"
  | "unreadGroup"
  | "notifiedEvent";

export interface TableScan {
  /**
   * Lists the records of some kinds that lie in one table, in a segment of it. Reads every item of
   * that segment; pages may be empty. Strongly consistent.
   */
  scan<K extends ScannedKind>(
    kinds: readonly K[],
    segment: ScanSegment,
    page: PageRequest,
  ): Promise<Page<Scanned<K>>>;
}
