/** The records of reactions, events and notifications, and their names. */

import { type Ref, ref } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { ClosedRange } from "../rules/closed-group.ts";
import type { Event, EventActor, EventsName } from "../rules/event.ts";
import type { Inbox } from "../rules/inbox.ts";
import type { StoredKind } from "../rules/kinds.ts";
import type { ReadMark } from "../rules/reaction.ts";
import type { FormerReaction, PendingPurge, Reaction, Target } from "../rules/target.ts";
import type { ReadGroup, UnreadGroup } from "../rules/unread-group.ts";

declare module "../../platform/ports/records.ts" {
  interface Records {
    target: Target;
    pendingPurge: PendingPurge;
    reaction: Reaction | FormerReaction;
    inbox: Inbox;
    unreadGroup: UnreadGroup;
    readGroup: ReadGroup;
    /** The closed groups of one owner about one target. */
    closedGroups: ClosedGroups;
    readMark: ReadMark;
    mutedPerson: MutedPerson;
    mutedHash: MutedHash;
    mutedTarget: MutedTarget;
    notifiedEvent: NotifiedEvent;
    notificationEvent: Event;
    eventActor: EventActor;
    /** An owner who was notified of events about a target: its deletion ends the notifications. */
    eventOwner: EventsName;
  }
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

/** How many people of one hash an owner has muted. Exists only while there are several. */
interface MutedHash {
  readonly count: number;
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
  /** The version of the event; 0 if the owner was not notified. */
  readonly version: number;
  readonly retracted: boolean;
  /** From this instant on its id may be used again. */
  readonly expireTime: Instant;
}

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
export const mutedHashRef = (ownerId: string, hash: number): Ref<"mutedHash"> =>
  ref("mutedHash", ownerId, hash);
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
