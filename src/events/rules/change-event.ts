/** Events in the terms of the rules, and the changes of the store that they are made of. */
import type { BulkGrant } from "../../bulk-grants/rules/bulk-grant.ts";
import type { Target } from "../../feed/rules/target.ts";
import type { Group, ReadGroup, UnreadGroup } from "../../feed/rules/unread-group.ts";
import type { Hold } from "../../holds/rules/hold.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { LedgerEntry } from "../../points/rules/ledger.ts";
import type { Program } from "../../points/rules/program.ts";
import type { Reservation } from "../../reservations/rules/reservation.ts";
import type { Crossing } from "./crossings.ts";
import type { EventType } from "./event-types.ts";

/** The records whose changes are events. */
interface ChangingRecords {
  readonly program: Program;
  readonly entry: LedgerEntry;
  readonly reservation: Reservation;
  readonly hold: Hold;
  readonly bulkGrant: BulkGrant;
  readonly target: Target;
  readonly unreadGroup: UnreadGroup;
  readonly readGroup: ReadGroup;
}

/** A record of a kind, with the parts of its name joined by `#`. */
export interface RecordOf<K extends keyof ChangingRecords> {
  readonly kind: K;
  readonly id: string;
  readonly value: ChangingRecords[K];
  readonly version: number;
}

/** A record as the store had it. */
export type ChangedRecord = {
  readonly [K in keyof ChangingRecords]: RecordOf<K>;
}[keyof ChangingRecords];

/** One change of one item. Packed entries of a ledger share an item. */
export interface Change {
  readonly table: string;
  /** When the store made the change, to the second. */
  readonly time: Instant;
  /** The records before the change; empty for a new item. */
  readonly before: readonly ChangedRecord[];
  /** The records after the change; empty for a deleted item. */
  readonly after: readonly ChangedRecord[];
  /** Whether the store has deleted the item because its time to live had passed. */
  readonly isExpiry: boolean;
  /** The keys of an item that cannot be decoded, with a blank between them. */
  readonly unreadable?: string | undefined;
}

/** Changes of a table that were lost before they were read. */
export interface LostChanges {
  readonly table: string;
  /** The changes from here on may be missing. */
  readonly startTime: Instant;
  /** The changes before this instant may be missing. */
  readonly endTime: Instant;
}

/** What has happened, before it is a message. */
export interface ChangeEvent {
  /** Names what has happened. */
  readonly id: string;
  readonly type: EventType;
  /** What it is about. */
  readonly subject: string;
  readonly time: Instant;
  /** Absent where it belongs to no program. */
  readonly programId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly cause?: string | undefined;
  readonly data: EventData;
}

/** The data of an event by what has changed. */
export type EventData =
  | ({ readonly kind: "entry"; readonly entry: LedgerEntry } & AccountOfEvent)
  | ({ readonly kind: "crossing"; readonly entryNumber: number } & AccountOfEvent & Crossing)
  | Recorded<"reservation">
  | Recorded<"hold">
  | Recorded<"bulkGrant">
  | Recorded<"target">
  | Recorded<"program">
  | NotificationData
  | { readonly kind: "gapFound"; readonly gap: LostChanges }
  | { readonly kind: "gapClosed"; readonly gap: LostChanges; readonly eventCount: number }
  | { readonly kind: "unreadable"; readonly table: string; readonly itemKey: string };

interface AccountOfEvent {
  readonly programId: string;
  readonly userId: string;
}

/** The data that is one record. */
interface Recorded<K extends keyof ChangingRecords> {
  readonly kind: K;
  readonly version: number;
  readonly value: ChangingRecords[K];
}

/** A notification after a change, or as it was before it was gone. */
export interface NotificationData {
  readonly kind: "notification";
  readonly ownerId: string;
  readonly version: number;
  readonly group: Group;
  /** When it was read; absent while it is unread. */
  readonly readTime?: Instant | undefined;
  readonly isGone: boolean;
}
