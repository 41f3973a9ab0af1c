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

/** Kinds that one target holds at a time. */
const maxKinds = 16;

/** What bytes of a display name are kept. */
const maxNameBytes = 64;

/** All that one reaction of one person to one target touches. */
export interface ReactionState {
  readonly target: Target;
  readonly inbox: Inbox;
  /** The owner's unread group of this target and kind. */
  readonly group: UnreadGroup | undefined;
  readonly row: Reaction | undefined;
}

/**
 * Puts a reaction where there is none: counted, and told to the owner unless it is the owner's own
 * or the target is muted. Refusal: LIMIT_EXCEEDED at the seventeenth kind.
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
  const notified = !target.muted && actor.userId !== target.ownerId;
  const { type, id } = target;
  const shown = { userId: actor.userId, actorName: cut(actor.actorName) };
  const joined = { version, notified, createTime: now };
  const row: Reaction = { target: { type, id }, kind, ...shown, ...joined };
  const counted = withCount(target, kind, count);
  if (!notified) return { target: counted, inbox: { ...inbox, version }, group, row };
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

/** Takes the reaction `row` back; from the unread group, too, if it is a member. */
export function withdraw(
  { target, inbox, group }: ReactionState,
  row: Reaction,
  membersOf: MembersOf,
): ReactionState {
  const counted = withCount(target, row.kind, countOf(target, row.kind) - 1);
  const version = inbox.version + 1;
  const isMember = group !== undefined && row.notified && row.version >= group.firstVersion;
  if (!isMember) return { target: counted, inbox: { ...inbox, version }, group, row: undefined };
  const left = leave(group, row.userId, membersOf);
  return {
    target: counted,
    inbox: {
      version,
      groupCount: inbox.groupCount - (left ? 0 : 1),
      peopleCount: inbox.peopleCount - 1,
    },
    group: left,
    row: undefined,
  };
}

function withCount(target: Target, kind: string, count: number): Target {
  const { [kind]: _, ...others } = target.counts;
  return { ...target, counts: count > 0 ? { ...others, [kind]: count } : others };
}

/** As many whole characters as fit. */
function cut(name: string): string {
  let bytes = 0;
  let kept = "";
  for (const character of name) {
    bytes += new TextEncoder().encode(character).length;
    if (bytes > maxNameBytes) return kept;
    kept += character;
  }
  return kept;
}
