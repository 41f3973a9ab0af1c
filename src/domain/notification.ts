/** Marks as read: what of an unread group becomes history, and what stays unread. */
import { type Inbox, replaceGroup } from "./inbox.ts";
import type { Instant } from "./month.ts";
import type { Milliseconds } from "./units.ts";
import {
  allShown,
  countedOf,
  firstVersionOf,
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
}

/** Whether a mark as read up to `version` divides a group that does not show all its members. */
export const needsSplit = (group: UnreadGroup, version: number): boolean =>
  divides(group, version) && !allShown(group);

const divides = (group: UnreadGroup, version: number): boolean =>
  version >= firstVersionOf(group) && version < versionOf(group);

/** The split of a group that shows all its members. */
function shownSplit(group: UnreadGroup, version: number): Split | undefined {
  const all = allShown(group);
  const read = all?.filter((member) => member.version <= version);
  if (!all || !read) return undefined;
  const firstUnread = all.slice(read.length);
  return { readCount: read.length, latestRead: read.toReversed(), firstUnread };
}

/**
 * Marks a group as read up to `version`: members who joined later become the new unread group,
 * for which it may need their split (`needsSplit`). A version beyond the inbox counts as its own,
 * because a table that was restored from a backup must not refuse every client. Changes nothing
 * when no member had joined by then.
 */
export function markRead(
  { inbox, group }: Omit<ReadState, "read">,
  version: number,
  { now, keptMs }: { readonly now: Instant; readonly keptMs: Milliseconds },
  found?: Split,
): ReadState {
  if (!group || version < firstVersionOf(group)) return { inbox, group, read: undefined };
  const { kind, target, actorCount, firstMembers, latestMembers } = group;
  const times = { readTime: now, expireTime: now + keptMs };
  if (!divides(group, version)) {
    const read = { kind, target, actorCount, firstMembers, latestMembers, ...times };
    return { inbox: replaceGroup(inbox, countedOf(group), undefined), group: undefined, read };
  }
  const split = found ?? shownSplit(group, version);
  if (!split) throw new Error("a mark that divides a group needs the split of its members");
  const { readCount, latestRead, firstUnread } = split;
  const unreadCount = actorCount - readCount;
  const isUnread = (member: Member) => member.version > version;
  const unread: UnreadGroup = {
    ...group,
    actorCount: unreadCount,
    firstMembers: firstUnread.slice(0, shownFirst).map(memberOf),
    latestMembers: latestMembers.filter(isUnread),
    recent: recentAfter(group, version, unreadCount),
  };
  const read: ReadGroup = {
    kind,
    target,
    actorCount: readCount,
    firstMembers: firstMembers.filter((member) => !isUnread(member)),
    latestMembers: latestRead.slice(0, shownLatest).map(memberOf),
    ...times,
  };
  const nextInbox = replaceGroup(inbox, countedOf(group), countedOf(unread));
  return { inbox: nextInbox, group: unread, read };
}

/** The counts of the recent members after a split at `version`. */
function recentAfter({ recent }: UnreadGroup, version: number, unreadCount: number) {
  if (version < recent.after) return recent;
  const counted = { ...recent, after: version, count: unreadCount };
  return recent.middle < version
    ? { ...counted, middle: version, lateCount: unreadCount }
    : counted;
}
