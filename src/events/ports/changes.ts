/** The changes of the store, as the streams of its tables tell them. */
import type { Records, Ref } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";

/** The tables whose streams are read. */
export const streamedTables = [
  "points",
  "reservations",
  "bulk",
  "reactions",
  "notifications",
] as const;

export type StreamedTable = (typeof streamedTables)[number];

/** The kinds of records whose changes are events. Those of all other kinds are left out. */
export type StreamedKind =
  | "program"
  | "entry"
  | "reservation"
  | "hold"
  | "bulkGrant"
  | "target"
  | "unreadGroup"
  | "readGroup";

/** A record as the store had it. */
export type StoredRecord = {
  readonly [K in StreamedKind]: Ref<K> & {
    readonly kind: K;
    readonly value: Records[K];
    readonly version: number;
  };
}[StreamedKind];

/** One change of one item. Packed entries of a ledger share an item. */
export interface StoredChange {
  readonly table: StreamedTable;
  /** When the store made the change, to the second. */
  readonly time: Instant;
  /** Its place in the shard; absent for what is no change of a stream. */
  readonly sequence?: string | undefined;
  /** The records before the change; empty for a new item. */
  readonly before: readonly StoredRecord[];
  /** The records after the change; empty for a deleted item. */
  readonly after: readonly StoredRecord[];
  /** Whether the store has deleted the item because its time to live had passed. */
  readonly isExpiry: boolean;
  /** The keys of an item that cannot be decoded, with a blank between them. */
  readonly unreadable?: string | undefined;
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
export interface Gap {
  readonly table: StreamedTable;
  /** The changes from here on may be missing. */
  readonly startTime: Instant;
  /** The changes before this instant may be missing. */
  readonly endTime: Instant;
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
