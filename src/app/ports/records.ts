/** The records of the store, and the names by which use cases and store refer to them. */
import type { Account } from "../../domain/account.ts";
import type { EventKey, LedgerEntry } from "../../domain/ledger.ts";
import type { Instant } from "../../domain/month.ts";
import type { Inbox, ReadGroup, UnreadGroup } from "../../domain/notification.ts";
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Reaction, Target, TargetName } from "../../domain/target.ts";

/** The records by kind. Every kind has its own form of key. */
export interface Records {
  program: Program;
  account: Account;
  entry: LedgerEntry;
  event: EventKey;
  reservation: Reservation;
  target: Target;
  reaction: Reaction;
  inbox: Inbox;
  unreadGroup: UnreadGroup;
  readGroup: ReadGroup;
  testClock: TestTime;
}

/** The time of the test clock, which changes only when a caller sets it. */
interface TestTime {
  readonly time: Instant;
}

export type Kind = keyof Records;

/** Names one record by its kind and the parts of its key, joined by `#`, which no part contains. */
export interface Ref<K extends Kind = Kind> {
  readonly kind: K;
  readonly id: string;
}

const ref = <K extends Kind>(kind: K, ...parts: readonly (string | number)[]): Ref<K> => ({
  kind,
  id: parts.join("#"),
});

export const programRef = (programId: string): Ref<"program"> => ref("program", programId);
export const accountRef = (programId: string, userId: string): Ref<"account"> =>
  ref("account", programId, userId);
export const entryRef = (programId: string, userId: string, number: number): Ref<"entry"> =>
  ref("entry", programId, userId, number);
export const eventRef = (programId: string, userId: string, name: string): Ref<"event"> =>
  ref("event", programId, userId, name);
export const reservationRef = (programId: string, reservationId: string): Ref<"reservation"> =>
  ref("reservation", programId, reservationId);
export const targetRef = ({ type, id }: TargetName): Ref<"target"> => ref("target", type, id);
export const reactionRef = (
  { type, id }: TargetName,
  kind: string,
  userId: string,
): Ref<"reaction"> => ref("reaction", type, id, kind, userId);
export const inboxRef = (ownerId: string): Ref<"inbox"> => ref("inbox", ownerId);
export const unreadGroupRef = (
  ownerId: string,
  { type, id }: TargetName,
  kind: string,
): Ref<"unreadGroup"> => ref("unreadGroup", ownerId, kind, type, id);
export const readGroupRef = (ownerId: string, group: UnreadGroup): Ref<"readGroup"> =>
  ref("readGroup", ownerId, group.version, group.kind, group.target.type, group.target.id);
export const testClockRef: Ref<"testClock"> = ref("testClock");

/** Reads of single records by their names. */
export interface RecordReader {
  get<K extends Kind>(ref: Ref<K>): Promise<{ value: Records[K]; version: number } | undefined>;
  /** The records in the order requested; undefined for each that does not exist. */
  many<K extends Kind>(refs: readonly Ref<K>[]): Promise<(Records[K] | undefined)[]>;
}
