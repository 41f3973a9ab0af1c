/** The rules for reacting and for unreacting: who may, and what changes. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { isTooOld, regroup } from "./closed-group.ts";
import { type Inbox, isKindMuted, replaceGroup } from "./inbox.ts";
import { countIn, type ReactionKind, type StoredKind } from "./kinds.ts";
import { type LatestActor, latestOf, withActor, withoutActor } from "./latest-actors.ts";
import {
  type FormerReaction,
  type Position,
  type Reaction,
  reservedType,
  type Target,
} from "./target.ts";
import {
  type Actor,
  comeBack,
  type Ends,
  hasPosition,
  inboxCountsOf,
  isMember,
  join,
  leave,
  type ReadGroup,
  type UnreadGroup,
  withName,
} from "./unread-group.ts";

/** A target has at most this many kinds of reactions at a time. Events do not count. */
export const maxKinds = 32;

/** How many reactions an exclusive one replaces: as many as fit into its transaction. */
const maxReplaced = 20;

/** Refusal: LIMIT_EXCEEDED if an exclusive reaction is to replace more than 20 others. */
export function requireFewReplaced(count: number): void {
  if (count <= maxReplaced) return;
  throw new DomainError("LIMIT_EXCEEDED", `it would replace more than ${maxReplaced} reactions`, {
    limit: String(maxReplaced),
  });
}

/** For how long a reaction that was unreacted matters to the next one of the same person. */
export const formerReactionMs: Milliseconds = 30 * 24 * 3_600_000;

/** All records that one reaction of one person to one target changes. */
export interface ReactionState {
  readonly target: Target;
  readonly inbox: Inbox;
  /** The owner's unread group of this target and kind: the open one, or that of the reaction. */
  readonly group: UnreadGroup | undefined;
  readonly reaction: Reaction | FormerReaction | undefined;
  /** The group that was the owner's open one until `group` began. */
  readonly closed?: UnreadGroup;
}

/** Up to where the open groups of one kind and target have ended, and when one was read last. */
export interface ReadMark {
  /** No group that began by this version of the inbox is open any more. */
  readonly version: number;
  /** 0 if none was read. */
  readonly readTime: Instant;
  /** From this instant on, the record may be deleted. */
  readonly expireTime: Instant;
}

/** The read mark after a group was read, up to a version of the inbox. */
export const markOf = (
  before: ReadMark | undefined,
  { readTime }: ReadGroup,
  version: number,
): ReadMark => ({
  version: Math.max(version, before?.version ?? 0),
  readTime,
  expireTime: readTime + formerReactionMs,
});

/** The read mark after a group is closed: no reaction comes back and begins it anew. */
export const markOfClosed = (
  before: ReadMark | undefined,
  { closed }: UnreadGroup,
  now: Instant,
): ReadMark => ({
  version: Math.max(closed?.endVersion ?? 0, before?.version ?? 0),
  readTime: before?.readTime ?? 0,
  expireTime: now + formerReactionMs,
});

/** Returns the reaction, unless it was unreacted. */
export const activeReaction = (reaction: ReactionState["reaction"]): Reaction | undefined =>
  reaction && "userId" in reaction ? reaction : undefined;

/** Returns the record of a reaction that was unreacted. */
const formerReactionOf = (reaction: ReactionState["reaction"]): FormerReaction | undefined =>
  reaction && !("userId" in reaction) ? reaction : undefined;

/**
 * The position to which the next reaction of a person comes back, unless it is kept out. Without an
 * unread group, this needs what the owner has read last.
 */
export function positionOf(
  { group, reaction }: ReactionState,
  readMark: () => ReadMark | undefined,
) {
  const position = formerReactionOf(reaction)?.position;
  if (!position) return undefined;
  if (group) return hasPosition(group, position) ? position : undefined;
  if (position.generation === undefined) return undefined;
  const generation = Math.max(position.generation, (readMark()?.version ?? 0) + 1);
  return position.version >= generation ? { ...position, generation } : undefined;
}

/** Who reacts, when, and whether the caller or the owner's mutes of people keep the owner out. */
interface NewReaction {
  readonly actor: Actor;
  readonly now: Instant;
  readonly silent: boolean;
  /** For so long after the owner has read an earlier reaction of the person it notifies nobody. */
  readonly coolDownMs: Milliseconds;
  /** When the owner has read the reactions that an exclusive one replaces. */
  readonly replacedReadTime?: Instant | undefined;
  /** The position to which it comes back (`positionOf`). */
  readonly position?: Position | undefined;
  /** An open group that began longer ago is closed, and another one begins. */
  readonly regroupAfterMs?: Milliseconds | undefined;
}

/**
 * Adds a reaction to a state without an active one. It is counted, and it notifies the owner unless
 * it is silent, the owner's own or muted, or the owner has read an earlier one of this person a
 * short while ago. A person who has left an unread group comes back to the same position there.
 * Refusal: LIMIT_EXCEEDED for more than `maxKinds`.
 */
export function react(
  state: ReactionState,
  kind: StoredKind,
  given: NewReaction,
): ReactionState & { readonly reaction: Reaction } {
  const { target, inbox, group } = state;
  const { actor, now } = given;
  const count = countOf(target, kind) + 1;
  if (count === 1 && Object.keys(target.counts).length >= maxKinds) {
    throw new DomainError("LIMIT_EXCEEDED", `a target holds at most ${maxKinds} kinds`, {
      limit: String(maxKinds),
    });
  }
  const readTime = readTimeOf(state, given);
  const notified = notifies(state, kind, given);
  const position = notified ? given.position : undefined;
  const version = position?.version ?? inbox.version + 1;
  const { type, id } = target;
  const reaction: Reaction = {
    target: { type, id },
    kind,
    userId: actor.userId,
    displayName: actor.displayName,
    version,
    notified,
    createTime: now,
    ...(readTime !== undefined && { readTime }),
  };
  const known = withActor(latestOf(target.latest, kind), reaction, {
    count: count - 1,
    isNewest: version > inbox.version,
  });
  const nextTarget = withCount(target, kind, count, { known, time: now });
  if (!notified) return { target: nextTarget, inbox: { ...inbox, version }, group, reaction };
  if (!position && group && isTooOld(group, now, given.regroupAfterMs)) {
    return { target: nextTarget, reaction, ...regroup(inbox, group, reaction) };
  }
  const joined = position
    ? comeBack(group, reaction, { ...position, leaveCount: inbox.version + 1 })
    : join(group, reaction);
  const nextInbox = replaceGroup(inbox, inboxCountsOf(group), inboxCountsOf(joined));
  return { target: nextTarget, inbox: nextInbox, group: joined, reaction };
}

/**
 * Gives an active reaction the person's name of today, also where an unread group shows it. Returns
 * the same state if the name is the same.
 */
export function rename(
  state: ReactionState,
  reaction: Reaction,
  { displayName, now }: { readonly displayName: string; readonly now: Instant },
): ReactionState {
  if (displayName === reaction.displayName) return state;
  const { inbox, group } = state;
  const renamed = { ...reaction, displayName };
  if (!isMember(group, reaction)) {
    return { ...state, inbox: { ...inbox, version: inbox.version + 1 }, reaction: renamed };
  }
  const nextInbox = replaceGroup(inbox, inboxCountsOf(group), inboxCountsOf(group));
  const nextGroup = withName(group, renamed, now);
  return { ...state, inbox: nextInbox, group: nextGroup, reaction: renamed };
}

/** When the owner has last read an earlier reaction in the place of a new one. */
function readTimeOf(
  { reaction }: ReactionState,
  { replacedReadTime = 0 }: Pick<NewReaction, "replacedReadTime">,
): Instant | undefined {
  const latest = Math.max(reaction?.readTime ?? 0, replacedReadTime);
  return latest > 0 ? latest : undefined;
}

function notifies(state: ReactionState, kind: StoredKind, given: NewReaction): boolean {
  const { target, inbox } = state;
  const { actor, now, silent, coolDownMs } = given;
  const isMuted = target.muted || isKindMuted(inbox.preferences, kind);
  const readTime = readTimeOf(state, given) ?? Number.NEGATIVE_INFINITY;
  // The clock of the server that read may be ahead, which makes no cool-down where there is none.
  const isQuiet = coolDownMs > 0 && readTime + coolDownMs > now;
  return !silent && !isMuted && !isQuiet && actor.userId !== target.ownerId;
}

/** When a reaction is removed, and what decides how long its record is kept. */
interface Removal {
  readonly now: Instant;
  readonly readMark: ReadMark | undefined;
  /** For so long a read notification may show the person. */
  readonly historyMs: Milliseconds;
}

/**
 * Removes a reaction, also from the unread group if it is a member. Its record keeps the position
 * there, or when the owner has read it, for the next reaction of the person; and it leads from the
 * person to read notifications that still show the name. `refill` has the members whom the group
 * shows in the place of this one (`leave`).
 */
export function unreact(
  { target, inbox, group }: ReactionState,
  reaction: Reaction,
  { now, readMark, historyMs }: Removal,
  refill?: Partial<Ends>,
): ReactionState {
  const { kind, createTime } = reaction;
  const known = withoutActor(latestOf(target.latest, kind), reaction.userId);
  const nextTarget = withCount(target, kind, countOf(target, kind) - 1, { known, time: now });
  if (isMember(group, reaction)) {
    const remaining = leave(group, reaction, now, refill);
    const nextInbox = replaceGroup(inbox, inboxCountsOf(group), inboxCountsOf(remaining));
    const { version } = reaction;
    const position = group.closed ? { version } : { version, generation: group.generation };
    const { readTime } = reaction;
    const kept = { position, ...(readTime !== undefined && { readTime }) };
    const expireTime = Math.max(now + formerReactionMs, keptUntil(readTime, historyMs));
    const former = { ...kept, createTime, expireTime };
    return { target: nextTarget, inbox: nextInbox, group: remaining, reaction: former };
  }
  // Without a read mark it was read before the last cool-down that may still matter.
  const latestReadTime = readMark?.readTime || now - formerReactionMs;
  const readTime = reaction.notified ? latestReadTime : reaction.readTime;
  const shownUntil = reaction.notified ? now + historyMs : 0;
  const expireTime = Math.max(shownUntil, keptUntil(readTime, historyMs));
  const former = { ...(readTime !== undefined && { readTime }), createTime, expireTime };
  return {
    target: nextTarget,
    inbox: { ...inbox, version: inbox.version + 1 },
    group,
    reaction: expireTime > now ? former : undefined,
  };
}

/** Until when a cool-down or a read notification needs what the owner has read at a time. */
const keptUntil = (readTime: Instant | undefined, historyMs: Milliseconds): Instant =>
  readTime === undefined ? 0 : readTime + Math.max(formerReactionMs, historyMs);

function withCount(
  target: Target,
  kind: StoredKind,
  count: number,
  { known, time }: { readonly known: readonly LatestActor[]; readonly time: Instant },
): Target {
  const { [kind]: _, ...otherCounts } = target.counts;
  const { [kind as ReactionKind]: __, ...otherKinds } = target.latest?.byKind ?? {};
  return {
    ...target,
    counts: count > 0 ? { ...otherCounts, [kind]: count } : otherCounts,
    latest: { time, byKind: known.length > 0 ? { ...otherKinds, [kind]: known } : otherKinds },
  };
}

/** Returns the number of reactions, or of events, of one kind. */
export const countOf = ({ counts }: Target, kind: StoredKind): number => countIn(counts, kind);

/**
 * Requires the name of a target that belongs to callers. Refusal: INVALID_REQUEST for a target of
 * Meguri's own notices, which nobody else makes, notifies of, reacts to or deletes.
 */
export function requireUnreserved({ type }: TargetName): void {
  if (type !== reservedType) return;
  throw new DomainError("INVALID_REQUEST", `the type ${reservedType} is reserved`, {
    field: "target_name.type",
  });
}

/** Requires a target that is not deleted. Refusals: TARGET_NOT_FOUND, TARGET_DELETED. */
export function requireActive(target: Target | undefined): Target {
  const existing = requireExisting(target);
  if (existing.deleteTime === undefined) return existing;
  throw new DomainError("TARGET_DELETED", `${existing.type} ${existing.id} was deleted`);
}

/** Whether this is a tombstone. */
export const isDeleted = (target: Target | undefined): boolean => target?.deleteTime !== undefined;

/** Requires a target or its tombstone. Refusal: TARGET_NOT_FOUND. */
export function requireExisting(target: Target | undefined): Target {
  if (!target) throw new DomainError("TARGET_NOT_FOUND", "there is no such target");
  return target;
}
