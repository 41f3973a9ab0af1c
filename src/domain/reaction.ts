/** The rules for reacting and for taking a reaction back: counts, unread group and inbox. */
import { cutToBytes } from "./display-text.ts";
import { DomainError } from "./errors.ts";
import { type Inbox, replaceGroup } from "./inbox.ts";
import { isEventKind, kindName, type StoredKind } from "./kinds.ts";
import type { Instant } from "./month.ts";
import { countOf, type Reaction, type Target, type WithdrawnReaction } from "./target.ts";
import type { Milliseconds } from "./units.ts";
import {
  type Actor,
  countedOf,
  type Ends,
  isMember,
  join,
  leave,
  type UnreadGroup,
} from "./unread-group.ts";

/** A target has at most this many kinds of reactions and events at a time. */
const maxKinds = 16;

/** Of a display name, this many bytes of UTF-8 are stored at most. */
const maxNameBytes = 64;

/** All records that one reaction of one person to one target changes. */
export interface ReactionState {
  readonly target: Target;
  readonly inbox: Inbox;
  /** The owner's unread group of this target and kind. */
  readonly group: UnreadGroup | undefined;
  readonly reaction: Reaction | WithdrawnReaction | undefined;
}

/** Returns the reaction, unless it was taken back. */
export const unlessWithdrawn = (reaction: ReactionState["reaction"]): Reaction | undefined =>
  reaction && "userId" in reaction ? reaction : undefined;

/** Who reacts, when, and whether the caller or the owner's mutes of people keep the owner out. */
interface NewReaction {
  readonly actor: Actor;
  readonly now: Instant;
  readonly silent: boolean;
}

/**
 * Adds a reaction to a state without an active one. It is counted, and it notifies the owner unless
 * it is silent, the owner's own or muted, or the owner has read an earlier one of this person a
 * short while ago. Refusal: LIMIT_EXCEEDED for the seventeenth kind.
 */
export function react(state: ReactionState, kind: StoredKind, given: NewReaction) {
  const { target, inbox, group } = state;
  const { actor, now } = given;
  const count = countOf(target, kind) + 1;
  if (count === 1 && Object.keys(target.counts).length >= maxKinds) {
    throw new DomainError("LIMIT_EXCEEDED", `a target holds at most ${maxKinds} kinds`, {
      limit: String(maxKinds),
    });
  }
  const version = inbox.version + 1;
  const { type, id } = target;
  const quietUntil = state.reaction?.quietUntil;
  const reaction: Reaction = {
    target: { type, id },
    kind,
    userId: actor.userId,
    displayName: cutToBytes(actor.displayName, maxNameBytes),
    version,
    notified: notifies(state, kind, given),
    createTime: now,
    ...(quietUntil !== undefined && quietUntil > now && { quietUntil }),
  };
  const counted = withCount(target, kind, count);
  if (!reaction.notified) {
    return { target: counted, inbox: { ...inbox, version }, group, reaction };
  }
  const joined = join(group, reaction);
  const nextInbox = replaceGroup(inbox, countedOf(group), countedOf(joined));
  return { target: counted, inbox: nextInbox, group: joined, reaction } satisfies ReactionState;
}

function notifies(
  { target, inbox, reaction }: ReactionState,
  kind: StoredKind,
  { actor, now, silent }: NewReaction,
): boolean {
  const { allMuted, mutedKinds } = inbox.preferences;
  const isMuted = target.muted || allMuted || mutedKinds.includes(kindName(kind));
  const isQuiet = reaction?.quietUntil !== undefined && reaction.quietUntil > now;
  return !silent && !isMuted && !isQuiet && actor.userId !== target.ownerId;
}

/**
 * Takes a reaction back, and removes it from the unread group if it is a member. If the owner has
 * read it already, its record remains until `coolDownMs` after the reaction, so that the
 * same person does not notify the owner again by reacting once more. `refill` has the members whom
 * the group shows in the place of this one (`endsToRefill`).
 */
export function withdraw(
  { target, inbox, group }: ReactionState,
  reaction: Reaction,
  { now, coolDownMs }: { readonly now: Instant; readonly coolDownMs: Milliseconds },
  refill?: Partial<Ends>,
): ReactionState {
  const { kind } = reaction;
  const counted = withCount(target, kind, countOf(target, kind) - 1);
  if (isMember(group, reaction)) {
    const remaining = leave(group, reaction, now, refill);
    const nextInbox = replaceGroup(inbox, countedOf(group), countedOf(remaining));
    return { target: counted, inbox: nextInbox, group: remaining, reaction: undefined };
  }
  const isRead = reaction.notified && !isEventKind(kind);
  const quietUntil = isRead ? reaction.createTime + coolDownMs : (reaction.quietUntil ?? 0);
  return {
    target: counted,
    inbox: { ...inbox, version: inbox.version + 1 },
    group,
    reaction: quietUntil > now ? { quietUntil } : undefined,
  };
}

function withCount(target: Target, kind: StoredKind, count: number): Target {
  const { [kind]: _, ...otherCounts } = target.counts;
  return { ...target, counts: count > 0 ? { ...otherCounts, [kind]: count } : otherCounts };
}
