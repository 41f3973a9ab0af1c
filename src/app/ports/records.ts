/** The records of the store, and the names by which use cases and store refer to them. */
import type { Account } from "../../domain/account.ts";
import type { BulkGrant, Revision } from "../../domain/bulk-grant.ts";
import type { Inbox } from "../../domain/inbox.ts";
import type { StoredKind } from "../../domain/kinds.ts";
import type { EventKey, LedgerEntry } from "../../domain/ledger.ts";
import type { Instant } from "../../domain/month.ts";
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type {
  PendingPurge,
  Reaction,
  Target,
  TargetName,
  WithdrawnReaction,
} from "../../domain/target.ts";
import type { ReadGroup, UnreadGroup } from "../../domain/unread-group.ts";
import type { BlockCheck, BlockOutcome, PendingUpload } from "./bulk-grants.ts";

/** The records by kind. Every kind has its own form of key. */
export interface Records {
  program: Program;
  account: Account;
  entry: LedgerEntry;
  event: EventKey;
  reservation: Reservation;
  target: Target;
  pendingPurge: PendingPurge;
  reaction: Reaction | WithdrawnReaction;
  inbox: Inbox;
  unreadGroup: UnreadGroup;
  readGroup: ReadGroup;
  mutedPerson: MutedPerson;
  notifiedEvent: NotifiedEvent;
  bulkGrant: BulkGrant;
  bulkRevision: Revision;
  bulkContent: BulkContent;
  revisionContent: RevisionContent;
  pendingUpload: PendingUpload;
  blockCheck: BlockCheck;
  blockOutcome: BlockOutcome;
  testClock: TestTime;
}

/** The bulk grant that had these rows first. */
interface BulkContent {
  readonly bulkGrantId: string;
}

/** The latest revision of a bulk grant that has this content. */
interface RevisionContent {
  readonly revision: number;
}

/** A person whom an owner has muted, and since when. */
export interface MutedPerson {
  readonly userId: string;
  readonly time: Instant;
}

/** An event that was reported by Notify, or by Meguri itself. */
interface NotifiedEvent {
  readonly hash: string;
  /** Whether the owner was notified of it. */
  readonly notified: boolean;
  /** From this instant on its id may be used again. */
  readonly expireTime: Instant;
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
export const pendingPurgeRef = ({ type, id }: TargetName): Ref<"pendingPurge"> =>
  ref("pendingPurge", type, id);
export const reactionRef = (
  { type, id }: TargetName,
  kind: StoredKind,
  userId: string,
): Ref<"reaction"> => ref("reaction", type, id, kind, userId);
export const inboxRef = (ownerId: string): Ref<"inbox"> => ref("inbox", ownerId);
export const unreadGroupRef = (
  ownerId: string,
  { type, id }: TargetName,
  kind: StoredKind,
): Ref<"unreadGroup"> => ref("unreadGroup", ownerId, kind, type, id);
export const readGroupRef = (
  ownerId: string,
  version: number,
  { type, id }: TargetName,
  kind: StoredKind,
): Ref<"readGroup"> => ref("readGroup", ownerId, version, kind, type, id);
export const mutedPersonRef = (ownerId: string, userId: string): Ref<"mutedPerson"> =>
  ref("mutedPerson", ownerId, userId);
export const notifiedEventRef = (
  ownerId: string,
  service: string,
  eventId: string,
): Ref<"notifiedEvent"> => ref("notifiedEvent", ownerId, service, eventId);
export const bulkGrantRef = (programId: string, bulkGrantId: string): Ref<"bulkGrant"> =>
  ref("bulkGrant", programId, bulkGrantId);
export const bulkRevisionRef = (
  programId: string,
  bulkGrantId: string,
  number: number,
): Ref<"bulkRevision"> => ref("bulkRevision", programId, bulkGrantId, number);
export const bulkContentRef = (programId: string, rowsDigest: string): Ref<"bulkContent"> =>
  ref("bulkContent", programId, rowsDigest);
export const revisionContentRef = (
  programId: string,
  bulkGrantId: string,
  contentHash: string,
): Ref<"revisionContent"> => ref("revisionContent", programId, bulkGrantId, contentHash);
export const pendingUploadRef = (uploadId: string): Ref<"pendingUpload"> =>
  ref("pendingUpload", uploadId);
export const blockCheckRef = (uploadId: string, block: number): Ref<"blockCheck"> =>
  ref("blockCheck", uploadId, block);
export const blockOutcomeRef = (uploadId: string, block: number): Ref<"blockOutcome"> =>
  ref("blockOutcome", uploadId, block);
export const testClockRef: Ref<"testClock"> = ref("testClock");

/** Reads of single records by their names. */
export interface RecordReader {
  get<K extends Kind>(ref: Ref<K>): Promise<{ value: Records[K]; version: number } | undefined>;
  /** The records in the order requested; undefined for each that does not exist. */
  many<K extends Kind>(refs: readonly Ref<K>[]): Promise<(Records[K] | undefined)[]>;
}
