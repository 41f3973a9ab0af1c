/** Marks as read: what of an unread group becomes history, and what stays unread. */

import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { type Inbox, replaceGroup } from "./inbox.ts";
import { withoutRead } from "./recent-members.ts";
import {
  allShown,
  type Ends,
  firstVersionOf,
  type Group,
  inboxCountsOf,
  type Member,
  memberOf,
  type ReadGroup,
  shownFirst,
  shownLatest,
  type UnreadGroup,
  versionOf,
} from "./unread-group.ts";

/** The records of an owner that a mark as read changes. */
interface ReadState {
  readonly inbox: Inbox;
  readonly group: UnreadGroup | undefined;
  /** The members that the mark moved out of the unread group. */
  readonly read: ReadGroup | undefined;
}

/** Both sides of a version in an unread group. */
export interface Split {
  /** The number of members up to the version. */
  readonly readCount: number;
  /** The latest of these members, latest first: three, or all of fewer. */
  readonly latestRead: readonly Member[];
  /** The first members after the version, earliest first: two, or all of fewer. */
  readonly firstUnread: readonly Member[];
  /** The numbers of people on both sides, if not every member is another person. */
  readonly actors?: { readonly read: number; readonly unread: number };
}

/** Whether a mark as read up to `version` divides a group that does not show all its members. */
export const needsSplit = (group: UnreadGroup, version: number): boolean =>
  divides(group, version) && !allShown(group);

const divides = (group: UnreadGroup, version: number): boolean =>
  isReadBy(group, version) && version < versionOf(group);

/**
 * Whether members are read by a mark up to `version`. One that was read before is read as a whole:
 * not all of its members have records by which it could be divided.
 */
const isReadBy = (group: UnreadGroup, version: number): boolean =>
  version >= (group.closed?.wasRead ? versionOf(group) : firstVersionOf(group));

/** The split of a group that shows all its members. */
function shownSplit(group: UnreadGroup, version: number): Split | undefined {
  const all = allShown(group);
  const read = all?.filter((member) => member.version <= version);
  if (!all || !read) return undefined;
  const firstUnread = all.slice(read.length);
  const actors = { read: countActors(read), unread: countActors(firstUnread) };
  return { readCount: read.length, latestRead: read.toReversed(), firstUnread, actors };
}

const countActors = (members: readonly Member[]): number =>
  new Set(members.map(({ userId }) => userId)).size;

/**
 * Marks a group as read up to `version`. The read group keeps the name: members who joined later
 * become a new unread group, which begins after `version`, and for which it may need their split
 * (`needsSplit`). A version beyond the inbox counts as the version of the inbox, because a table
 * that was restored from a backup must not refuse every client. Changes nothing when no member had
 * joined by then.
 */
export function markRead(
  { inbox, group }: Omit<ReadState, "read">,
  version: number,
  { now, keptMs }: { readonly now: Instant; readonly keptMs: Milliseconds },
  found?: Split,
): ReadState {
  if (!group || !isReadBy(group, version)) return { inbox, group, read: undefined };
  const { kind, target, generation, memberCount, actorCount, firstMembers, latestMembers } = group;
  const name = { kind, target, generation };
  const times = { readTime: now, expireTime: now + keptMs };
  if (!divides(group, version)) {
    const read = { ...name, memberCount, actorCount, firstMembers, latestMembers, ...times };
    return { inbox: replaceGroup(inbox, inboxCountsOf(group), undefined), group: undefined, read };
  }
  const split = found ?? shownSplit(group, version);
  if (!split) throw new Error("a mark that divides a group needs the split of its members");
  const { readCount, latestRead, firstUnread } = split;
  const unreadCount = memberCount - readCount;
  const { actors = { read: readCount, unread: unreadCount } } = split;
  const isUnread = (member: Member) => member.version > version;
  const unread: UnreadGroup = {
    ...group,
    generation: version + 1,
    memberCount: unreadCount,
    actorCount: actors.unread,
    firstMembers: firstUnread.slice(0, shownFirst).map(memberOf),
    latestMembers: latestMembers.filter(isUnread),
    recent: withoutRead(group.recent, version, unreadCount),
  };
  const read: ReadGroup = {
    ...name,
    memberCount: readCount,
    actorCount: actors.read,
    firstMembers: firstMembers.filter((member) => !isUnread(member)),
    latestMembers: latestRead.slice(0, shownLatest).map(memberOf),
    ...times,
  };
  const nextInbox = replaceGroup(inbox, inboxCountsOf(group), inboxCountsOf(unread));
  return { inbox: nextInbox, group: unread, read };
}

/**
 * The earliest and the latest people of a group, in which several events may be of one person. A
 * small group shows all of its members, a larger one only those at its ends.
 */
export function shownPeople(group: Group): Ends {
  const all = allShown(group);
  return {
    first: differentPeople(all ?? group.firstMembers).slice(0, shownFirst),
    latest: differentPeople(all?.toReversed() ?? group.latestMembers).slice(0, shownLatest),
  };
}

/** The first one of each person. */
const differentPeople = (members: readonly Member[]): Member[] =>
  members.filter(({ userId }, i) => members.findIndex((member) => member.userId === userId) === i);
