import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";
import type { Reaction, TargetName } from "./target.ts";

/**
 * The number line of one owner. Every change of a reaction to what they own, and every change of
 * what is unread, takes the next number: it is the version of the unread count.
 */
export interface Inbox {
  readonly version: number;
  /** How many unread groups there are. */
  readonly groupCount: number;
  /** The distinct actors of each unread group, summed over the groups. */
  readonly peopleCount: number;
}

export const emptyInbox: Inbox = { version: 0, groupCount: 0, peopleCount: 0 };

/** Who reacts. The name is for display alone. */
export interface Actor {
  readonly userId: string;
  readonly actorName: string;
}

/**
 * All unread reactions of one kind to one target. Its members are the notified reactions that have
 * joined at `from` or later.
 */
export interface UnreadGroup {
  readonly kind: string;
  readonly target: TargetName;
  readonly firstVersion: number;
  /** The number at which the latest one joined, whether or not they have left again. */
  readonly version: number;
  /** How many members it has. */
  readonly peopleCount: number;
  /** The two earliest members, earliest first. */
  readonly firstActors: readonly Actor[];
  /** The three latest members, latest first; those of a small group are in both. */
  readonly latestActors: readonly Actor[];
  readonly createTime: Instant;
  readonly updateTime: Instant;
}

/** A group as it was when it was read. */
export interface ReadGroup extends UnreadGroup {
  readonly readTime: Instant;
  /** From then on it is gone for readers. */
  readonly expireTime: Instant;
}

/** Members of a group with numbers from `from` to `to`, both included. */
export interface MemberRange {
  readonly from: number;
  readonly to: number;
  /** Whether all of them are to be counted, which costs as much as they are many. */
  readonly counted: boolean;
  /** How many there are, when it is a whole group of up to `maxWhole`: all of them are returned. */
  readonly whole?: number;
}

/** A group of up to this many members is read whole: their rows fit into one atomic read. */
export const maxWhole = 90;

/** What the reactions themselves tell of a range: one member more than is shown at each end. */
export interface Members {
  /** How many there are; 0 unless they were to be counted. */
  readonly count: number;
  readonly first: readonly Reaction[];
  readonly latest: readonly Reaction[];
}

export type MembersOf = (range: MemberRange) => Members;

/** How many members are named at each end of a group. */
export const shownFirst = 2;
export const shownLatest = 3;

/** Beyond every number of an inbox. */
const end = Number.MAX_SAFE_INTEGER;

/**
 * The members of a group in a range. A query is no snapshot, but a whole group is known to be read
 * right, since the number of its members is known (docs/decisions/0014). A larger group may be read
 * while a row of the latest transactions is not applied yet.
 */
function membersIn(group: UnreadGroup, membersOf: MembersOf, range: MemberRange): Members {
  if (group.peopleCount > maxWhole) return membersOf(range);
  const { first } = membersOf({
    from: group.firstVersion,
    to: end,
    counted: true,
    whole: group.peopleCount,
  });
  const rows = first.filter(({ version }) => version >= range.from && version <= range.to);
  return { count: rows.length, first: rows, latest: rows.toReversed() };
}

/** The group with one member more, who comes after all others. */
export function join(
  group: UnreadGroup | undefined,
  { target, kind, ...row }: Reaction,
): UnreadGroup {
  const { userId, actorName, version, createTime } = row;
  const actor = { userId, actorName };
  if (!group) {
    const times = { createTime, updateTime: createTime };
    const shown = { firstActors: [actor], latestActors: [actor] };
    return { kind, target, firstVersion: version, version, peopleCount: 1, ...shown, ...times };
  }
  const { peopleCount, firstActors, latestActors } = group;
  return {
    ...group,
    version,
    peopleCount: peopleCount + 1,
    firstActors: firstActors.length < shownFirst ? [...firstActors, actor] : firstActors,
    latestActors: [actor, ...latestActors].slice(0, shownLatest),
    updateTime: createTime,
  };
}

/** The group without this member; none without the last one. A name that was shown is refilled. */
export function leave(
  group: UnreadGroup,
  userId: string,
  membersOf: MembersOf,
): UnreadGroup | undefined {
  const people = group.peopleCount - 1;
  if (people === 0) return undefined;
  const { firstActors, latestActors } = group;
  const isOther = (actor: Actor) => actor.userId !== userId;
  if (firstActors.every(isOther) && latestActors.every(isOther))
    return { ...group, peopleCount: people };
  if (people < shownFirst + shownLatest) {
    // In a group of this size everybody is shown.
    const early = new Set(firstActors.map((actor) => actor.userId));
    const all = [
      ...firstActors,
      ...latestActors.toReversed().filter((actor) => !early.has(actor.userId)),
    ];
    const others = all.filter(isOther);
    return { ...group, peopleCount: people, ...shown(others, others.toReversed()) };
  }
  const members = membersIn(group, membersOf, {
    from: group.firstVersion,
    to: end,
    counted: false,
  });
  const others = { first: members.first.filter(isOther), latest: members.latest.filter(isOther) };
  return { ...group, peopleCount: people, ...shown(others.first, others.latest) };
}

/** What of an owner a read mark touches. */
interface ReadState {
  readonly inbox: Inbox;
  readonly group: UnreadGroup | undefined;
  /** What was unread and is no longer. */
  readonly read: ReadGroup | undefined;
}

/**
 * Marks as read what a reader of version `version` has seen of a group: all of it, or those who had
 * joined by then, while the others become the new unread group. Nothing happens when none of those
 * seen is still unread. Refusal: INVALID_REQUEST for a version that is yet to come.
 */
export function markRead(
  { inbox, group }: Omit<ReadState, "read">,
  version: number,
  { now, keptMs }: { readonly now: Instant; readonly keptMs: number },
  membersOf: MembersOf,
): ReadState {
  checkVersion(inbox, version);
  const unchanged = { inbox, group, read: undefined };
  if (!group || version < group.firstVersion) return unchanged;
  const left = { ...inbox, version: inbox.version + 1 };
  const times = { readTime: now, expireTime: now + keptMs };
  const after =
    version < group.version
      ? membersIn(group, membersOf, { from: version + 1, to: end, counted: true })
      : { count: 0, first: [], latest: [] };
  const readCount = group.peopleCount - after.count;
  if (readCount === 0) return unchanged;
  if (after.count === 0) {
    const counts = {
      groupCount: inbox.groupCount - 1,
      peopleCount: inbox.peopleCount - readCount,
    };
    return { inbox: { ...left, ...counts }, group: undefined, read: { ...group, ...times } };
  }
  const before = membersIn(group, membersOf, {
    from: group.firstVersion,
    to: version,
    counted: false,
  });
  const [latest] = before.latest;
  if (!latest) throw new DomainError("CONTENDED", "reactions of the group are being written");
  const read: ReadGroup = {
    ...group,
    version: latest.version,
    peopleCount: readCount,
    ...shown(before.first, before.latest),
    updateTime: latest.createTime,
    ...times,
  };
  const unread: UnreadGroup = {
    ...group,
    firstVersion: version + 1,
    peopleCount: after.count,
    ...shown(after.first, after.latest),
    createTime: (after.first[0] as Reaction).createTime,
  };
  const peopleCount = inbox.peopleCount - readCount;
  return { inbox: { ...left, peopleCount }, group: unread, read };
}

/** Refusal: INVALID_REQUEST for a version that the inbox has not reached. */
export function checkVersion(inbox: Inbox, version: number): void {
  if (version <= inbox.version) return;
  const message = `version is beyond that of the unread count, ${inbox.version}`;
  throw new DomainError("INVALID_REQUEST", message, { field: "version" });
}

/** The inbox without an unread group, which nobody has read. */
export const withoutGroup = (
  { version, groupCount, peopleCount }: Inbox,
  group: UnreadGroup,
): Inbox => ({
  version: version + 1,
  groupCount: groupCount - 1,
  peopleCount: peopleCount - group.peopleCount,
});

/**
 * Who a notification names, for a text in any language: one or two names, or the first one and how
 * many others.
 */
export function textOf({ peopleCount, firstActors }: UnreadGroup): {
  names: string[];
  otherCount: number;
} {
  const names = firstActors.map(({ actorName }) => actorName);
  return peopleCount > 2
    ? { names: names.slice(0, 1), otherCount: peopleCount - 1 }
    : { names, otherCount: 0 };
}

const shown = (first: readonly Actor[], latest: readonly Actor[]) => ({
  firstActors: first.slice(0, shownFirst).map(nameOnly),
  latestActors: latest.slice(0, shownLatest).map(nameOnly),
});

const nameOnly = ({ userId, actorName }: Actor): Actor => ({ userId, actorName });
