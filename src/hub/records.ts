/** The records of the store, and the names by which use cases and store refer to them. */

import type { BlockCheck, BlockOutcome, PendingUpload } from "../bulk-grants/ports/bulk-grants.ts";
import type { Action, BulkGrant, Revision } from "../bulk-grants/rules/bulk-grant.ts";
import type { BulkGrantSummary } from "../bulk-grants/rules/bulk-grant-summary.ts";
import type { PointsWindow } from "../bulk-grants/rules/counted-points.ts";
import type { ClosedRange } from "../feed/rules/closed-group.ts";
import type { Event, EventActor, EventsName } from "../feed/rules/event.ts";
import type { Inbox } from "../feed/rules/inbox.ts";
import type { StoredKind } from "../feed/rules/kinds.ts";
import type { ReadMark } from "../feed/rules/reaction.ts";
import type {
  PendingPurge,
  Reaction,
  Target,
  TargetName,
  WithdrawnReaction,
} from "../feed/rules/target.ts";
import type { ReadGroup, UnreadGroup } from "../feed/rules/unread-group.ts";
import type { HoldName } from "../holds/ports/holds.ts";
import type { Hold } from "../holds/rules/hold.ts";
import type { LeaseHolder } from "../platform/ports/lease.ts";
import type { Instant } from "../platform/words/month.ts";
import type { Account } from "../points/rules/account.ts";
import type { RuleChange } from "../points/rules/bulk-rule-changes.ts";
import type { EventKey, LedgerEntry } from "../points/rules/ledger.ts";
import type { LiabilityReport } from "../points/rules/liability.ts";
import type { Program } from "../points/rules/program.ts";
import type { DueHour, PendingStart, RecordName } from "../reservations/ports/reservations.ts";
import type { Reservation } from "../reservations/rules/reservation.ts";

/** The records by kind. Every kind has its own form of key. */
export interface Records {
  program: Program;
  account: Account;
  entry: LedgerEntry;
  event: EventKey;
  liabilityReport: LiabilityReport;
  reservation: Reservation;
  pendingStart: PendingStart;
  dueHour: DueHour;
  hold: Hold;
  target: Target;
  pendingPurge: PendingPurge;
  reaction: Reaction | WithdrawnReaction;
  inbox: Inbox;
  unreadGroup: UnreadGroup;
  readGroup: ReadGroup;
  /** The closed groups of one owner about one target. */
  closedGroups: ClosedGroups;
  readMark: ReadMark;
  mutedPerson: MutedPerson;
  mutedTarget: MutedTarget;
  notifiedEvent: NotifiedEvent;
  notificationEvent: Event;
  eventActor: EventActor;
  /** An owner who was notified of events about a target: its deletion ends the notifications. */
  eventOwner: EventsName;
  bulkGrant: BulkGrant;
  bulkRevision: Revision;
  bulkSummary: BulkGrantSummary;
  bulkAction: Action;
  bulkContent: BulkContent;
  revisionContent: RevisionContent;
  pendingUpload: PendingUpload;
  blockCheck: BlockCheck;
  blockOutcome: BlockOutcome;
  /** The latest change of a program's bulk rules. */
  bulkRules: RuleChange;
  /** A change that others came after. */
  earlierBulkRules: RuleChange;
  pointsWindow: PointsWindow;
  testClock: TestTime;
  lease: LeaseHolder;
}

/** The bulk grant that had these rows first. */
interface BulkContent {
  readonly bulkGrantId: string;
}

/** The latest revision of a bulk grant that has this content. */
interface RevisionContent {
  readonly revision: number;
}

/** Which closed groups there are, whose records have names of their own. */
interface ClosedGroups {
  readonly ranges: readonly ClosedRange[];
}

/** A person whom an owner has muted, and since when. */
export interface MutedPerson {
  readonly userId: string;
  readonly time: Instant;
}

/** A target that its owner has muted, and since when. */
export interface MutedTarget {
  readonly target: TargetName;
  readonly time: Instant;
}

/** An event that was reported by Notify, or by Meguri itself. */
export interface NotifiedEvent {
  readonly hash: string;
  readonly target: TargetName;
  readonly kind: StoredKind;
  readonly userId: string;
  /** The version of the event; 0 if the owner was not notified. */
  readonly version: number;
  readonly retracted: boolean;
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
export const liabilityReportRef = (programId: string, reportId: string): Ref<"liabilityReport"> =>
  ref("liabilityReport", programId, reportId);
export const reservationRef = (programId: string, reservationId: string): Ref<"reservation"> =>
  ref("reservation", programId, reservationId);
/** The mark of a hold has one part more than that of a reservation. */
export const pendingStartRef = (name: RecordName): Ref<"pendingStart"> =>
  "holdId" in name
    ? ref("pendingStart", name.programId, "H", name.holdId)
    : ref("pendingStart", name.programId, name.reservationId);
export const dueHourRef = ({ programId, hour }: DueHour): Ref<"dueHour"> =>
  ref("dueHour", programId, hour);
export const holdRef = ({ programId, holdId }: HoldName): Ref<"hold"> =>
  ref("hold", programId, holdId);
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
export const closedGroupRef = (
  ownerId: string,
  { type, id }: TargetName,
  kind: StoredKind,
  generation: number,
): Ref<"unreadGroup"> => ref("unreadGroup", ownerId, kind, type, id, generation);
export const closedGroupsRef = (ownerId: string, { type, id }: TargetName): Ref<"closedGroups"> =>
  ref("closedGroups", ownerId, type, id);
/** The owner of a group. */
export const ownerOfGroup = ({ id }: Ref<"unreadGroup" | "readGroup">): string =>
  id.slice(0, id.indexOf("#"));
export const readGroupRef = (
  ownerId: string,
  { type, id }: TargetName,
  kind: StoredKind,
  generation: number,
): Ref<"readGroup"> => ref("readGroup", ownerId, kind, type, id, generation);
export const readMarkRef = (
  ownerId: string,
  { type, id }: TargetName,
  kind: StoredKind,
): Ref<"readMark"> => ref("readMark", ownerId, kind, type, id);
export const mutedPersonRef = (ownerId: string, userId: string): Ref<"mutedPerson"> =>
  ref("mutedPerson", ownerId, userId);
export const mutedTargetRef = (ownerId: string, { type, id }: TargetName): Ref<"mutedTarget"> =>
  ref("mutedTarget", ownerId, type, id);
export const notifiedEventRef = (
  ownerId: string,
  service: string,
  eventId: string,
): Ref<"notifiedEvent"> => ref("notifiedEvent", ownerId, service, eventId);
export const notificationEventRef = (
  { ownerId, target: { type, id }, kind }: EventsName,
  userId: string,
  version: number,
): Ref<"notificationEvent"> => ref("notificationEvent", ownerId, type, id, kind, userId, version);
export const eventActorRef = (
  { ownerId, target: { type, id }, kind }: EventsName,
  userId: string,
): Ref<"eventActor"> => ref("eventActor", ownerId, type, id, kind, userId);
export const eventOwnerRef = ({
  ownerId,
  target: { type, id },
  kind,
}: EventsName): Ref<"eventOwner"> => ref("eventOwner", type, id, ownerId, kind);
export const bulkGrantRef = (programId: string, bulkGrantId: string): Ref<"bulkGrant"> =>
  ref("bulkGrant", programId, bulkGrantId);
export const bulkRevisionRef = (
  programId: string,
  bulkGrantId: string,
  number: number,
): Ref<"bulkRevision"> => ref("bulkRevision", programId, bulkGrantId, number);
export const bulkSummaryRef = (
  programId: string,
  bulkGrantId: string,
  revision: number,
): Ref<"bulkSummary"> => ref("bulkSummary", programId, bulkGrantId, revision);
export const bulkActionRef = (
  programId: string,
  bulkGrantId: string,
  number: number,
): Ref<"bulkAction"> => ref("bulkAction", programId, bulkGrantId, number);
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
export const bulkRulesRef = (programId: string): Ref<"bulkRules"> => ref("bulkRules", programId);
export const earlierBulkRulesRef = (programId: string, number: number): Ref<"earlierBulkRules"> =>
  ref("earlierBulkRules", programId, number);
export const pointsWindowRef = (programId: string): Ref<"pointsWindow"> =>
  ref("pointsWindow", programId);
export const testClockRef: Ref<"testClock"> = ref("testClock");
export const leaseRef = (name: string): Ref<"lease"> => ref("lease", name);

/** Reads of single records by their names. */
export interface RecordReader {
  get<K extends Kind>(ref: Ref<K>): Promise<{ value: Records[K]; version: number } | undefined>;
  /** The records in the order requested; undefined for each that does not exist. */
  many<K extends Kind>(refs: readonly Ref<K>[]): Promise<(Records[K] | undefined)[]>;
}
