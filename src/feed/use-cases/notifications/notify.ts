/** The use cases that notify owners of an event: one that a service reports, or one of Meguri. */

import type { Call, CallLimits } from "../../../platform/ports/call.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import { asService, type Caller, noCaller } from "../../../platform/words/caller.ts";
import { maxDisplayNameBytes, readDisplayText } from "../../../platform/words/display-text.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Instant } from "../../../platform/words/month.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { Milliseconds } from "../../../platform/words/units.ts";
import { requestHash } from "../../../platform/work/idempotency.ts";
import type { Deps } from "../../ports/deps.ts";
import {
  closedGroupsRef,
  eventOwnerRef,
  mutedPersonRef,
  type NotifiedEvent,
  notificationEventRef,
  notifiedEventRef,
  targetRef,
  unreadGroupRef,
} from "../../ports/records.ts";
import {
  addEvent,
  type Event,
  type EventsName,
  eventKnownMs,
  isNoTarget,
  type NewEvent,
  noTarget,
  notifiesOf,
} from "../../rules/event.ts";
import type { Inbox } from "../../rules/inbox.ts";
import { eventKind, kindName } from "../../rules/kinds.ts";
import { requireActive, requireUnreserved } from "../../rules/reaction.ts";
import { noActor, reservedType, type Target } from "../../rules/target.ts";
import type { Actor } from "../../rules/unread-group.ts";
import { closedRefAt, regroupAfterOf } from "./closed-groups.ts";
import { eventRefsOf, putEventState, readEventState } from "./event-records.ts";
import { forEachOwner } from "./many-owners.ts";
import { isPersonMuted } from "./muted-people.ts";

/** The dependencies of every notice of an event. */
export type NotifyDeps = Pick<Deps, "engine" | "reader" | "unreadCounts" | "historyMs">;

interface EventInput extends Call {
  /** Unique for the owner and the calling service, until twice `historyMs` after the event. */
  readonly eventId: string;
  /** The target of the event; required without `ownerIds`. */
  readonly target?: TargetName | undefined;
  /** The kind as callers name it. */
  readonly kind: string;
  /** Without a user id: an event without an actor, whose name is what is displayed. */
  readonly actor: Actor;
  readonly link?: string | undefined;
  readonly data?: Uint8Array | undefined;
  /** The cause, such as the id of a post. Absent when none was given. */
  readonly cause?: string | undefined;
  /** The owners to be notified; without any, the owner of the target. */
  readonly ownerIds?: readonly string[] | undefined;
  /** An unread notification that began longer ago takes it in no more: another one begins. */
  readonly regroupAfterMs?: Milliseconds | undefined;
}

/** The state of an event for one owner. */
interface NotifyResult {
  readonly ownerId: string;
  /** Whether the event is in an unread group now. */
  readonly notified: boolean;
  /** True when an earlier call had reported the event, so that this one changed nothing. */
  readonly replayed: boolean;
  readonly retracted: boolean;
}

/** An event for one owner, and what makes a repeated call the same one. */
interface OwnedEvent {
  readonly event: NewEvent;
  readonly hash: string;
  /** Registered with the event if it does not exist yet. */
  readonly newTarget?: Omit<Target, "createTime" | "updateTime"> | undefined;
  readonly regroupAfterMs?: Milliseconds | undefined;
  readonly call?: CallLimits | undefined;
}

/**
 * Notifies owners of an event, each by a transaction of its own. Further events of one kind about
 * one target are members of the same unread group. After a retryable error some of the owners may
 * be notified; the same call notifies the remaining ones. Refusals: TARGET_NOT_FOUND,
 * TARGET_DELETED, ID_REUSED, INVALID_REQUEST for the reserved type and as `readDisplayText`.
 */
export async function notify(
  deps: NotifyDeps & Pick<Deps, "owners">,
  { target, ownerIds = [], link = "", data = new Uint8Array(), ...input }: EventInput,
): Promise<NotifyResult[]> {
  const { eventId, cause, caller, regroupAfterMs } = input;
  if (target) requireUnreserved(target);
  const kind = eventKind(input.kind);
  const { userId } = input.actor;
  const displayName = readDisplayText(input.actor.displayName, maxDisplayNameBytes, "display_name");
  const actor = { userId, displayName };
  const content = { link, data, ...(cause && { cause }) };
  const hash = hashOf(caller, { target, kind: input.kind, ...actor, ...content });
  const reported = { kind, actor, service: caller.service, eventId, ...content };
  return forEachOwner(await ownersOf(deps, target, ownerIds), (ownerId) => {
    const event = { ...reported, ownerId, target: target ?? noTarget };
    return notifyOwner(deps, { event, hash, regroupAfterMs, call: input });
  });
}

/** The fields that the hash of a reported event covers. */
interface HashedEvent extends Pick<Event, "userId" | "displayName" | "link" | "data" | "cause"> {
  readonly target: TargetName | undefined;
  /** As callers name it. */
  readonly kind: string;
}

const hashOf = (caller: Caller, { target, data, ...content }: HashedEvent): string =>
  requestHash("notify", caller, { ...pick(target), ...content, data: textOf(data) });

const pick = (target: TargetName | undefined) => target && { type: target.type, id: target.id };

const noticeHash = ({ type, id }: TargetName, kind: string): string =>
  requestHash("notify", noCaller, { type, id, kind });

/** The hash of the call that reported an event, from its record. */
export function eventHash(event: HashedEvent & Pick<Event, "service">): string {
  const { service, target, kind, userId, displayName, link, data, cause } = event;
  const name = kindName(kind);
  if (service === noCaller.service && target) return noticeHash(target, name);
  const content = { link, data, cause };
  return hashOf(asService(service), { target, kind: name, userId, displayName, ...content });
}

const textOf = (data: Uint8Array): string => Buffer.from(data).toString("base64");

/** The owners that a call names, or else the owner of its target. */
export async function ownersOf(
  { owners }: Pick<Deps, "owners">,
  target: TargetName | undefined,
  ownerIds: readonly string[],
): Promise<readonly string[]> {
  if (ownerIds.length > 0) return ownerIds;
  if (target) return [await owners.of(target)];
  throw new DomainError("INVALID_REQUEST", "target_name is required without owner_ids", {
    field: "target_name",
  });
}

/** Notifies one owner. An event that is known by its id is the same one if it has the same hash. */
async function notifyOwner(
  deps: NotifyDeps,
  { event: reported, hash, newTarget, regroupAfterMs, call }: OwnedEvent,
): Promise<NotifyResult> {
  const { ownerId, target, kind, actor, service, eventId } = reported;
  const { userId } = actor;
  const refs = eventRefsOf(reported, userId);
  const key = notifiedEventRef(ownerId, service, eventId);
  const about = isNoTarget(target) ? [] : [targetRef(target), eventOwnerRef(reported)];
  const { inbox, ...result } = await deps.engine.transact<NotifyResult & { inbox?: Inbox }>({
    key: refs.inbox,
    readSet: [refs.inbox, refs.group, refs.actor, ...about],
    expectAbsent: [key, mutedPersonRef(ownerId, userId), closedGroupsRef(ownerId, target)],
    call,
    decide(tx, { wall: now }) {
      const known = tx.get(key);
      if (known && known.expireTime > now) {
        const isUnread = isInUnread(tx, reported, known.version);
        return replay(known, hash, ownerId, isUnread);
      }
      const active = isNoTarget(target) ? undefined : activeTarget(tx, target, newTarget, now);
      const before = readEventState(tx, refs);
      const isMuted = isPersonMuted(tx, ownerId, before.inbox, userId);
      const knownMs = eventKnownMs(deps.historyMs);
      const expireTime = now + knownMs;
      const name = { hash, target, kind, retracted: false, expireTime };
      if (!notifiesOf(reported, before.inbox, active, isMuted)) {
        const after = { ...before.inbox, version: before.inbox.version + 1 };
        tx.put(refs.inbox, after);
        tx.put(key, { ...name, version: 0 });
        return { ownerId, notified: false, replayed: false, retracted: false, inbox: after };
      }
      const after = addEvent(before, reported, {
        now,
        knownMs,
        regroupAfterMs: regroupAfterOf(tx, ownerId, before.group, now, regroupAfterMs),
      });
      const { version } = after.event;
      putEventState(tx, refs, before, after);
      tx.put(notificationEventRef(reported, userId, version), after.event);
      if (!before.group) noteOwner(tx, reported);
      tx.put(key, { ...name, version });
      return { ownerId, notified: true, replayed: false, retracted: false, inbox: after.inbox };
    },
  });
  if (inbox) deps.unreadCounts.publish(ownerId, inbox);
  return result;
}

/** Whether the event of a version is in the open group of its name or in a closed one. */
function isInUnread(tx: Transaction, name: EventsName, version: number): boolean {
  const open = tx.get(unreadGroupRef(name.ownerId, name.target, name.kind));
  const isInOpen = open !== undefined && version >= open.generation;
  return isInOpen || closedRefAt(tx, name, version) !== undefined;
}

/** The present state of an event that an earlier call has reported. */
function replay(
  { hash, retracted }: NotifiedEvent,
  requestedHash: string,
  ownerId: string,
  isUnread: boolean,
): NotifyResult {
  if (hash !== requestedHash) {
    throw new DomainError("ID_REUSED", "this event_id was used for another event");
  }
  return { ownerId, notified: isUnread && !retracted, replayed: true, retracted };
}

/** The target, which `newTarget` registers. Refusals: TARGET_NOT_FOUND, TARGET_DELETED. */
function activeTarget(
  tx: Transaction,
  name: TargetName,
  newTarget: OwnedEvent["newTarget"],
  now: Instant,
): Target {
  const ref = targetRef(name);
  const found = tx.get(ref);
  if (found || !newTarget) return requireActive(found);
  const target = { ...newTarget, createTime: now, updateTime: now };
  tx.put(ref, target);
  return target;
}

/** Notes that the owner has a group, so that the deletion of its target ends it. */
function noteOwner(tx: Transaction, { ownerId, target, kind }: EventsName): void {
  // Meguri's own targets are never deleted.
  if (isNoTarget(target) || target.type === reservedType) return;
  const ref = eventOwnerRef({ ownerId, target, kind });
  if (!tx.get(ref)) tx.put(ref, { ownerId, target, kind });
}

/** An unread group takes in notices for so long, so that news do not bring an old one up. */
const noticeRegroupMs: Milliseconds = 30 * 24 * 3_600_000;

/** A notice of Meguri itself to a member of a program. */
interface MemberNotice {
  readonly programId: string;
  readonly userId: string;
  readonly kind: "points-expiring" | "points-granted";
  /** Unique for the member. No caller's event has it, because Meguri's own have no service. */
  readonly eventId: string;
  /** The displayed text: the number of points. */
  readonly label: string;
  /** The cause. Absent when none is given. */
  readonly cause?: string | undefined;
}

/**
 * Notifies a member of a program once for each `eventId`, whatever the label is the next time: the
 * points of an account may change between two runs. A notice that the member has muted is no error.
 * Throws retryable errors only.
 */
export async function notifyMember(deps: NotifyDeps, notice: MemberNotice): Promise<void> {
  const { programId, userId: ownerId, eventId, label: displayName, cause } = notice;
  const target = { type: reservedType, id: `${programId}:${ownerId}` };
  const kind = eventKind(notice.kind);
  const hash = noticeHash(target, notice.kind);
  const actor = { userId: noActor, displayName };
  const content = { link: "", data: new Uint8Array(), ...(cause && { cause }) };
  const event = { ownerId, target, kind, actor, service: noCaller.service, eventId, ...content };
  const newTarget = { ...target, ownerId, title: "", link: "", counts: {}, muted: false };
  await notifyOwner(deps, { event, hash, newTarget, regroupAfterMs: noticeRegroupMs });
}
