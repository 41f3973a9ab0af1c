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

/** Names what can be reacted to. */
export interface TargetName {
  readonly type: string;
  readonly id: string;
}

/** Something that a user owns and others react to. */
export interface Target extends TargetName {
  readonly ownerId: string;
  readonly title: string;
  readonly link: string;
  /** How many people react, by kind; a kind that nobody holds any more is not in it. */
  readonly counts: Readonly<Record<string, number>>;
  /** While set, its owner is not notified of new reactions. */
  readonly muted: boolean;
  /** A tombstone: never registered again. */
  readonly deleted: boolean;
  readonly createTime: Instant;
}

/** One person's standing reaction of one kind; there is none once it is taken back. */
export interface Reaction {
  readonly target: TargetName;
  readonly kind: string;
  readonly userId: string;
  /** As it was when they reacted; for display only. */
  readonly actorName: string;
  /** The number of the owner's inbox at which it joined. */
  readonly version: number;
  /** Whether the owner was to be told: not of their own, nor while the target was muted. */
  readonly notified: boolean;
  readonly createTime: Instant;
}

/** The target, tombstone or not, that has to be there. Refusal: TARGET_NOT_FOUND. */
export function requireExisting(target: Target | undefined): Target {
  if (!target) throw new DomainError("TARGET_NOT_FOUND", "there is no such target");
  return target;
}

/** The target that has to stand. Refusals: TARGET_NOT_FOUND, TARGET_DELETED. */
export function requireActive(target: Target | undefined): Target {
  const found = requireExisting(target);
  if (!found.deleted) return found;
  throw new DomainError("TARGET_DELETED", `${found.type} ${found.id} was deleted`);
}

export const defaultKind = "like";

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

export const countOf = ({ counts }: Target, kind: string): number =>
  Object.hasOwn(counts, kind) ? (counts[kind] as number) : 0;

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
