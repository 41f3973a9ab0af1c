/** The changes of the store, from the streams of its tables. */
import type { Instant } from "../../platform/words/month.ts";
import type { Change, ChangedRecord, LostChanges } from "../rules/change-event.ts";

/** The tables whose streams are read. */
export const streamedTables = [
  "points",
  "reservations",
  "bulk",
  "reactions",
  "notifications",
] as const;

export type StreamedTable = (typeof streamedTables)[number];

/** A record as the store had it. */
export type StoredRecord = ChangedRecord;

/** The kinds of records whose changes are events. Those of all other kinds are left out. */
export type StreamedKind = StoredRecord["kind"];

/** One change of one item of a table. */
export interface StoredChange extends Change {
  readonly table: StreamedTable;
  /** Its position in the shard; absent for what is no change of a stream. */
  readonly sequence?: string | undefined;
}

/** How far one shard of a stream has been read. */
export interface ShardPosition {
  readonly table: StreamedTable;
  /** The ARN of the stream. A restored table has another one, as one that was switched on again. */
  readonly stream: string;
  /** The sequence number of the last record that was read; undefined before the first one. */
  readonly sequence?: string | undefined;
  /** Whether the shard has ended and all of it has been read. */
  readonly ended?: true | undefined;
  /**
   * All changes up to here were read, of the shard or of its parents: the time of the last record,
   * a later time up to which the shard was found empty, or when reading of the stream began.
   */
  readonly time: Instant;
}

/** How far all shards have been read, by the id of the shard. */
export type ShardPositions = Readonly<Record<string, ShardPosition>>;

/** Changes that the stream of a table has lost before they were read. */
export interface Gap extends LostChanges {
  readonly table: StreamedTable;
}

/** What a reader of streams hands over, in order for each shard. */
export type Taken =
  /** Changes of one shard, which may be none, and how far it has been read with them. */
  | {
      readonly kind: "changes";
      readonly changes: readonly StoredChange[];
      readonly shard: string;
      readonly position: ShardPosition;
    }
  /** A gap of a table, and its shards from which reading goes on, in place of all others of it. */
  | { readonly kind: "gap"; readonly gap: Gap; readonly positions: ShardPositions };

export interface ChangeStreams {
  /**
   * Reads all shards of all tables from `positions` on, parents before children, until the signal
   * aborts. Shards that have no position are read from their oldest record on. Reads several shards
   * at a time. The next changes of a shard are read when `take` has taken the last ones; no shard
   * of a table goes on while `take` closes a gap of it. Rejects with what `take` throws. What the
   * store throws is tried again with growing delays, each shard by itself.
   */
  read(
    positions: ShardPositions,
    take: (taken: Taken) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** For how long changes of each table may have waited to be read, in ms. */
  behindMs(): Readonly<Record<StreamedTable, number>>;
}
