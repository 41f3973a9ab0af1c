/** The rules for reacting and for taking a reaction back: counts, unread group and inbox. */
import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";
import {
  type Actor,
  type Inbox,
  join,
  leave,
  type MembersOf,
  type UnreadGroup,
} from "./notification.ts";
import { countOf, type Reaction, type Target } from "./target.ts";

/** A target has at most this many kinds of reactions at a time. */
const maxKinds = 16;

/** A display name is cut to this many bytes of UTF-8. */
const maxNameBytes = 64;

/** All records that one reaction of one person to one target changes. */
export interface ReactionState {
  readonly target: Target;
  readonly inbox: Inbox;
  /** The owner's unread group of this target and kind. */
  readonly group: UnreadGroup | undefined;
  readonly row: Reaction | undefined;
}

/**
 * Adds a reaction to a state without one. It is counted, and it notifies the owner unless it is the
 * owner's own or the target is muted. Refusal: LIMIT_EXCEEDED for the seventeenth kind.
 */
export function react(state: ReactionState, kind: string, actor: Actor, now: Instant) {
  const { target, inbox, group } = state;
  const count = countOf(target, kind) + 1;
  if (count === 1 && Object.keys(target.counts).length >= maxKinds) {
    throw new DomainError("LIMIT_EXCEEDED", `a target holds at most ${maxKinds} kinds`, {
      limit: String(maxKinds),
    });
  }
  const version = inbox.version + 1;
  const { type, id } = target;
  const row: Reaction = {
    target: { type, id },
    kind,
    userId: actor.userId,
    actorName: cutName(actor.actorName),
    version,
    notified: !target.muted && actor.userId !== target.ownerId,
    createTime: now,
  };
  const counted = withCount(target, kind, count);
  if (!row.notified) return { target: counted, inbox: { ...inbox, version }, group, row };
  return {
    target: counted,
    inbox: {
      version,
      groupCount: inbox.groupCount + (group ? 0 : 1),
      peopleCount: inbox.peopleCount + 1,
    },
    group: join(group, row),
    row,
  } satisfies ReactionState;
}

/** Takes the reaction `row` back, and removes it from the unread group if it is a member. */
export function withdraw(
  { target, inbox, group }: ReactionState,
  row: Reaction,
  membersOf: MembersOf,
): ReactionState {
  const counted = withCount(target, row.kind, countOf(target, row.kind) - 1);
  const version = inbox.version + 1;
  const isMember = group !== undefined && row.notified && row.version >= group.firstVersion;
  if (!isMember) return { target: counted, inbox: { ...inbox, version }, group, row: undefined };
  const remaining = leave(group, row.userId, membersOf);
  return {
    target: counted,
    inbox: {
      version,
      groupCount: inbox.groupCount - (remaining ? 0 : 1),
      peopleCount: inbox.peopleCount - 1,
    },
    group: remaining,
    row: undefined,
  };
}

function withCount(target: Target, kind: string, count: number): Target {
  const { [kind]: _, ...otherCounts } = target.counts;
  return { ...target, counts: count > 0 ? { ...otherCounts, [kind]: count } : otherCounts };
}

/** Returns as many whole characters as fit into `maxNameBytes`. */
function cutName(name: string): string {
  let bytes = 0;
  let kept = "";
  for (const character of name) {
    bytes += new TextEncoder().encode(character).length;
    if (bytes > maxNameBytes) return kept;
    kept += character;
  }
  return kept;
}
