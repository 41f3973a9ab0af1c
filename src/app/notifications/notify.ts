/** The use cases that notify an owner of an event: one that a service reports, or one of Meguri. */
import { type Caller, noCaller } from "../../domain/caller.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Inbox } from "../../domain/inbox.ts";
import { eventKind } from "../../domain/kinds.ts";
import { react, unlessWithdrawn, withdraw } from "../../domain/reaction.ts";
import {
  noActor,
  requireUnreserved,
  reservedType,
  type Target,
  type TargetName,
} from "../../domain/target.ts";
import type { Actor } from "../../domain/unread-group.ts";
import type { Deps } from "../ports/deps.ts";
import { Missing } from "../ports/engine.ts";
import { mutedPersonRef, notifiedEventRef } from "../ports/records.ts";
import { putState, readState, refillOf, refsOf } from "../reactions/reaction-records.ts";
import { requestHash } from "../shared/idempotency.ts";
import { isPersonMuted } from "./muted-people.ts";

/** The dependencies of every notice of an event. */
export type NotifyDeps = Pick<Deps, "engine" | "reader" | "unreadCounts" | "historyMs">;

interface EventInput {
  /** Unique for the owner and the calling service, until `historyMs` after the event. */
  readonly eventId: string;
  readonly target: TargetName;
  /** The kind as callers name it. */
  readonly kind: string;
  /** Without a user id: an event without an actor, whose name is what is displayed. */
  readonly actor: Actor;
  readonly caller: Caller;
  readonly deadline?: number | undefined;
}

interface NotifyResult {
  /** Whether the event came into an unread group. */
  readonly notified: boolean;
  /** True when an earlier call had reported the event, so that this one changed nothing. */
  readonly replayed: boolean;
}

/**
 * Notifies the owner of a target of an event. A further event of the same actor, kind and target
 * makes this person the latest of the group once more. Refusals: TARGET_NOT_FOUND, TARGET_DELETED,
 * ID_REUSED, LIMIT_EXCEEDED for the seventeenth kind, INVALID_REQUEST for the reserved type.
 */
export async function notify(
  deps: NotifyDeps & Pick<Deps, "owners">,
  input: EventInput,
): Promise<NotifyResult> {
  const { target, kind, actor, caller } = input;
  requireUnreserved(target);
  const { userId, displayName } = actor;
  const hash = requestHash("notify", caller, { ...target, kind, userId, displayName });
  return notifyOwner(deps, await deps.owners.of(target), input, hash);
}

/** Notifies an owner. An event that is known by its id is the same one if it has the same hash. */
async function notifyOwner(
  deps: NotifyDeps,
  ownerId: string,
  input: EventInput,
  hash: string,
  newTarget?: Omit<Target, "createTime" | "updateTime">,
): Promise<NotifyResult> {
  const { target, actor, eventId, caller, deadline } = input;
  const { userId } = actor;
  const name = { target, kind: eventKind(input.kind), userId };
  const refs = refsOf(ownerId, name);
  const event = notifiedEventRef(ownerId, caller.service, eventId);
  const { inbox, ...result } = await deps.engine.transact({
    key: refs.inbox,
    readSet: [refs.target, refs.inbox, refs.group, refs.reaction],
    expectAbsent: [event, mutedPersonRef(ownerId, userId)],
    deadline,
    decide(tx, { wall }): (NotifyResult & { inbox?: Inbox }) | Missing {
      const known = tx.get(event);
      if (known && known.expireTime > wall) {
        if (known.hash === hash) return { notified: known.notified, replayed: true };
        throw new DomainError("ID_REUSED", "this event_id was used for another event");
      }
      if (newTarget && !tx.get(refs.target)) {
        tx.put(refs.target, { ...newTarget, createTime: wall, updateTime: wall });
      }
      const before = readState(tx, refs);
      const earlier = unlessWithdrawn(before.reaction);
      const refill = earlier && refillOf(tx, deps.reader, refs, before, earlier, wall);
      if (refill instanceof Missing) return refill;
      const times = { now: wall, coolDownMs: 0 };
      const state = earlier ? withdraw(before, earlier, times, refill) : before;
      const silent = isPersonMuted(tx, ownerId, state.inbox, userId);
      const after = react(state, name.kind, { actor, now: wall, silent });
      putState(tx, refs, before, after);
      const { notified } = after.reaction;
      tx.put(event, { hash, notified, expireTime: wall + deps.historyMs });
      return { notified, replayed: false, inbox: after.inbox };
    },
  });
  if (inbox) deps.unreadCounts.publish(ownerId, inbox);
  return result;
}

/** What Meguri itself notifies a member of a program of. */
interface MemberNotice {
  readonly programId: string;
  readonly userId: string;
  readonly kind: "points-expiring" | "points-granted";
  /** Unique for the member. No caller's event has it, because Meguri's own have no service. */
  readonly eventId: string;
  /** What is displayed: the number of points. */
  readonly label: string;
}

/**
 * Notifies a member of a program once for each `eventId`, whatever the label is the next time: the
 * points of an account may change between two runs. What the member has muted is no error. Throws
 * retryable errors only.
 */
export async function notifyMember(deps: NotifyDeps, notice: MemberNotice): Promise<void> {
  const { programId, userId, kind, eventId, label } = notice;
  const target = { type: reservedType, id: `${programId}:${userId}` };
  const event = { eventId, target, kind, actor: { userId: noActor, displayName: label } };
  const hash = requestHash("notify", noCaller, { ...target, kind });
  const newTarget = {
    ...target,
    ownerId: userId,
    title: "",
    link: "",
    counts: {},
    muted: false,
  };
  await notifyOwner(deps, userId, { ...event, caller: noCaller }, hash, newTarget);
}
