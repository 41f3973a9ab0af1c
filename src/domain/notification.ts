/** Unread groups, inboxes and marks as read: the rules for what an owner is notified of. */
import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";
import type { Reaction, TargetName } from "./target.ts";

/** The counts of an owner's unread groups, and their version. */
export interface Inbox {
  /**
   * Grows by one with every change of a reaction to the owner's targets and with every change of
   * the unread groups. It is the version of the unread count.
   */
  readonly version: number;
  /** The number of unread groups. */
  readonly groupCount: number;
  /** The distinct actors of each unread group, summed over the groups. */
  readonly peopleCount: number;
}

export const emptyInbox: Inbox = { version: 0, groupCount: 0, peopleCount: 0 };

/** A person who reacts. The name is for display only. */
export interface Actor {
  readonly userId: string;
  readonly actorName: string;
}

/**
 * All unread reactions of one kind to one target. Its members are the notified reactions whose
 * version is `firstVersion` or later.
 */
export interface UnreadGroup {
  readonly kind: string;
  readonly target: TargetName;
  readonly firstVersion: number;
  /** The version at which the latest member joined, even if this member has left since. */
  readonly version: number;
  /** The number of members. */
  readonly peopleCount: number;
  /** The two earliest members, earliest first. */
  readonly firstActors: readonly Actor[];
  /** The three latest members, latest first. Members of a small group are in both lists. */
  readonly latestActors: readonly Actor[];
  readonly createTime: Instant;
  readonly updateTime: Instant;
}

/** A group as it was when it was read. */
export interface ReadGroup extends UnreadGroup {
  readonly readTime: Instant;
  /** From this instant on, readers do not get it any more. */
  readonly expireTime: Instant;
}

/** How many members are named at each end of a group. */
export const shownFirst = 2;
export const shownLatest = 3;

/** A group of up to this many members is read whole: their rows fit into one atomic read. */
export const maxWhole = 90;

/** A query for the members of a group with versions from `from` to `to`, both included. */
export interface MemberRange {
  readonly from: number;
  readonly to: number;
  /** Whether to count the members, which reads all of them. */
  readonly counted: boolean;
  /**
   * The number of members, when the range is a whole group of up to `maxWhole`: the result then
   * contains all of them.
   */
  readonly whole?: number;
}

/** The members of a range, read from the reactions: at each end one more than a group shows. */
export interface Members {
  /** The number of members; 0 unless the range was to be counted. */
  readonly count: number;
  readonly first: readonly Reaction[];
  readonly latest: readonly Reaction[];
}

export type MembersOf = (range: MemberRange) => Members;

/** Adds a reaction, which is later than all members, to a group. Without a group it begins one. */
export function join(
  group: UnreadGroup | undefined,
  { target, kind, ...row }: Reaction,
): UnreadGroup {
  const { userId, actorName, version, createTime } = row;
  const actor = { userId, actorName };
  if (!group) {
    const times = { createTime, updateTime: createTime };
    const actors = { firstActors: [actor], latestActors: [actor] };
    return { kind, target, firstVersion: version, version, peopleCount: 1, ...actors, ...times };
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

/**
 * Removes a member from a group and replaces its name if the group showed it. Returns undefined
 * when it was the last member.
 */
export function leave(
  group: UnreadGroup,
  userId: string,
  membersOf: MembersOf,
): UnreadGroup | undefined {
  const peopleCount = group.peopleCount - 1;
  if (peopleCount === 0) return undefined;
  const { firstActors, latestActors } = group;
  const remains = (actor: Actor) => actor.userId !== userId;
  if (firstActors.every(remains) && latestActors.every(remains)) return { ...group, peopleCount };
  if (peopleCount < shownFirst + shownLatest) {
    // A group of this size shows all its members.
    const early = new Set(firstActors.map((actor) => actor.userId));
    const all = [
      ...firstActors,
      ...latestActors.toReversed().filter((actor) => !early.has(actor.userId)),
    ];
    const remaining = all.filter(remains);
    return { ...group, peopleCount, ...shownActors(remaining, remaining.toReversed()) };
  }
  const range = { from: group.firstVersion, to: maxVersion, counted: false };
  const { first, latest } = membersIn(group, membersOf, range);
  return {
    ...group,
    peopleCount,
    ...shownActors(first.filter(remains), latest.filter(remains)),
  };
}

/** The records of an owner that a mark as read changes. */
interface ReadState {
  readonly inbox: Inbox;
  readonly group: UnreadGroup | undefined;
  /** The members that the mark moved out of the unread group. */
  readonly read: ReadGroup | undefined;
}

/**
 * Marks a group as read up to `version`: members who joined later become the new unread group.
 * Changes nothing when no unread member joined by then. Throws INVALID_REQUEST for a version that
 * the inbox has not reached, and CONTENDED when a running transaction hides the members.
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
  const nextInbox = { ...inbox, version: inbox.version + 1 };
  const times = { readTime: now, expireTime: now + keptMs };
  const after =
    version < group.version
      ? membersIn(group, membersOf, { from: version + 1, to: maxVersion, counted: true })
      : { count: 0, first: [], latest: [] };
  const readCount = group.peopleCount - after.count;
  if (readCount === 0) return unchanged;
  const peopleCount = inbox.peopleCount - readCount;
  if (after.count === 0) {
    const counts = { groupCount: inbox.groupCount - 1, peopleCount };
    return { inbox: { ...nextInbox, ...counts }, group: undefined, read: { ...group, ...times } };
  }
  const range = { from: group.firstVersion, to: version, counted: false };
  const before = membersIn(group, membersOf, range);
  const [latest] = before.latest;
  if (!latest) throw new DomainError("CONTENDED", "reactions of the group are being written");
  const read: ReadGroup = {
    ...group,
    version: latest.version,
    peopleCount: readCount,
    ...shownActors(before.first, before.latest),
    updateTime: latest.createTime,
    ...times,
  };
  const unread: UnreadGroup = {
    ...group,
    firstVersion: version + 1,
    peopleCount: after.count,
    ...shownActors(after.first, after.latest),
    createTime: (after.first[0] as Reaction).createTime,
  };
  return { inbox: { ...nextInbox, peopleCount }, group: unread, read };
}

/** Throws INVALID_REQUEST for a version that the inbox has not reached. */
export function checkVersion(inbox: Inbox, version: number): void {
  if (version <= inbox.version) return;
  const message = `version is beyond that of the unread count, ${inbox.version}`;
  throw new DomainError("INVALID_REQUEST", message, { field: "version" });
}

/** Returns the inbox after the deletion of an unread group. */
export const withoutGroup = (
  { version, groupCount, peopleCount }: Inbox,
  group: UnreadGroup,
): Inbox => ({
  version: version + 1,
  groupCount: groupCount - 1,
  peopleCount: peopleCount - group.peopleCount,
});

/**
 * Returns the names in a notification, for a text in any language: one or two names, or the first
 * name and the number of the other people.
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

/** Above every version of an inbox. */
const maxVersion = Number.MAX_SAFE_INTEGER;

/**
 * Reads the members of a group in a range. A query is no snapshot. The read of a whole group is
 * validated by the number of its members, which is known (docs/decisions/0014). The result for a
 * larger group may miss rows of transactions that are not applied yet.
 */
function membersIn(group: UnreadGroup, membersOf: MembersOf, range: MemberRange): Members {
  if (group.peopleCount > maxWhole) return membersOf(range);
  const { first } = membersOf({
    from: group.firstVersion,
    to: maxVersion,
    counted: true,
    whole: group.peopleCount,
  });
  const rows = first.filter(({ version }) => version >= range.from && version <= range.to);
  return { count: rows.length, first: rows, latest: rows.toReversed() };
}

const shownActors = (first: readonly Actor[], latest: readonly Actor[]) => ({
  firstActors: first.slice(0, shownFirst).map(toActor),
  latestActors: latest.slice(0, shownLatest).map(toActor),
});

/** Drops the other properties of a reaction. */
const toActor = ({ userId, actorName }: Actor): Actor => ({ userId, actorName });
