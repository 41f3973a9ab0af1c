/** Events that services report: how they count people, and what changes when one is retracted. */

import type { Instant } from "../../platform/words/month.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { isTooOld, regroup } from "./closed-group.ts";
import { type Inbox, isKindMuted, replaceGroup } from "./inbox.ts";
import type { StoredKind } from "./kinds.ts";
import type { Target } from "./target.ts";
import { type Actor, inboxCountsOf, join, type Member, type UnreadGroup } from "./unread-group.ts";

/** Names the events of one kind about one target of which one owner is notified. */
export interface EventsName {
  readonly ownerId: string;
  readonly target: TargetName;
  readonly kind: StoredKind;
}

/**
 * An event of which an owner is notified. The events of one actor among those of one name are
 * linked: each has the version of the one before, so that people are counted without listing them.
 */
export interface Event extends EventsName, Member {
  /** The service that reported it; empty for an event of Meguri itself. */
  readonly service: string;
  /** Unique for the owner and the service. */
  readonly eventId: string;
  /** May be empty. */
  readonly link: string;
  /** The data that the service has attached, at most 256 bytes. */
  readonly data: Uint8Array;
  /** The cause, such as the id of a post. Absent when none was given. */
  readonly cause?: string | undefined;
  /** The version of the actor's event before among the events of this name; 0 if there is none. */
  readonly previousVersion: number;
  /** From this instant on, its record may be deleted. */
  readonly expireTime: Instant;
}

/** The record of an actor with events of one name. */
export interface EventActor {
  /** `noActor` of events without an actor. */
  readonly userId: string;
  /** The version of the actor's latest event. */
  readonly latestVersion: number;
  readonly expireTime: Instant;
}

/**
 * How long the id of an event is known, for a history of `historyMs`: its notification may be read
 * late, and is then listed for the time of the history.
 */
export const eventKnownMs = (historyMs: Milliseconds): Milliseconds => 2 * historyMs;

/** For so long the records of an event outlive its id: what can be retracted is there. */
export const eventRecordMs: Milliseconds = 24 * 3_600_000;

/** Stands in records for the target of events that are about none. No target has this type. */
export const noTarget: TargetName = { type: "-", id: "-" };

export const isNoTarget = ({ type }: TargetName): boolean => type === noTarget.type;

/** The versions of a notification: all events from `from` to `to` are in it, both included. */
interface VersionRange {
  readonly from: number;
  readonly to: number;
}

/** Whether an event is its actor's first one from version `from` on: it counts the person there. */
export const countsActor = (event: Event, from: number): boolean => event.previousVersion < from;

/** Whether nobody's event but this one counts its actor in a notification. `next` follows it. */
export const isOnlyOfActor = (
  event: Event,
  next: Event | undefined,
  { from, to }: VersionRange,
): boolean => countsActor(event, from) && (next === undefined || next.version > to);

/** The records of an event's actor after the event is retracted. `next` followed the event. */
export function unlink(
  event: Event,
  actor: EventActor,
  next: Event | undefined,
): { readonly actor: EventActor | undefined; readonly next: Event | undefined } {
  const { previousVersion } = event;
  if (next) return { actor, next: { ...next, previousVersion } };
  if (previousVersion === 0) return { actor: undefined, next };
  return { actor: { ...actor, latestVersion: previousVersion }, next };
}

/** The records of an owner that an event changes. */
export interface EventState {
  readonly inbox: Inbox;
  /** The owner's unread group of these events: the open one, or that of the event. */
  readonly group: UnreadGroup | undefined;
  /** The group that was the owner's open one until `group` began. */
  readonly closed?: UnreadGroup | undefined;
  readonly actor: EventActor | undefined;
}

/** An event as a service, or Meguri itself, reports it. */
export interface NewEvent
  extends EventsName,
    Pick<Event, "service" | "eventId" | "link" | "data" | "cause"> {
  /** Without a user id: an event without an actor, whose name is what is displayed. */
  readonly actor: Actor;
}

/**
 * Whether an owner is notified of an event: not of what the owner has done or muted. A target is
 * muted by its own owner. `isPersonMuted` says whether the owner has muted the actor.
 */
export function notifiesOf(
  { ownerId, kind, actor }: NewEvent,
  { preferences }: Inbox,
  target: Target | undefined,
  isPersonMuted: boolean,
): boolean {
  const isTargetMuted = target?.ownerId === ownerId && target.muted;
  const isMuted = isTargetMuted || isKindMuted(preferences, kind);
  return !isPersonMuted && !isMuted && actor.userId !== ownerId;
}

/**
 * Adds an event, of which the owner is notified, to the open group, or begins one with it. An open
 * group that began longer than `regroupAfterMs` ago is closed.
 */
export function addEvent(
  { inbox, group, actor }: EventState,
  { actor: { userId, displayName }, ...reported }: NewEvent,
  {
    now,
    knownMs,
    regroupAfterMs,
  }: {
    readonly now: Instant;
    /** How long the id of the event is known. */
    readonly knownMs: Milliseconds;
    readonly regroupAfterMs: Milliseconds | undefined;
  },
): EventState & { readonly group: UnreadGroup; readonly event: Event } {
  const version = inbox.version + 1;
  const event: Event = {
    ...reported,
    userId,
    displayName,
    version,
    previousVersion: actor?.latestVersion ?? 0,
    createTime: now,
    expireTime: now + knownMs + eventRecordMs,
  };
  const next = { actor: { userId, latestVersion: version, expireTime: event.expireTime }, event };
  if (group && isTooOld(group, now, regroupAfterMs)) {
    return { ...next, ...regroup(inbox, group, event) };
  }
  const joined = join(group, event);
  const isNew = !group || countsActor(event, group.generation);
  const after = { ...joined, actorCount: (group?.actorCount ?? 0) + (isNew ? 1 : 0) };
  const nextInbox = replaceGroup(inbox, inboxCountsOf(group), inboxCountsOf(after));
  return { ...next, inbox: nextInbox, group: after };
}
