/** Marks as read: what of an unread group becomes history, and what stays unread. */
import { DomainError } from "./errors.ts";
import { type Inbox, replaceGroup } from "./inbox.ts";
import type { Instant } from "./month.ts";
import type { Reaction } from "./target.ts";
import {
  countedOf,
  firstVersionOf,
  isSettled,
  type Member,
  type Members,
  type MembersOf,
  memberOf,
  olderEnds,
  type ReadGroup,
  recentOf,
  shownFirst,
  shownLatest,
  splitAllAt,
  splitOlderAt,
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

/**
 * Marks a group as read up to `version`: members who joined later become the new unread group. A
 * version beyond the inbox counts as its own, because a table that was restored from a backup must
 * not refuse every client. Changes nothing when no member had joined by then. Throws CONTENDED when
 * a running transaction hides the members.
 */
export function markRead(
  { inbox, group }: Omit<ReadState, "read">,
  version: number,
  { now, keptMs }: { readonly now: Instant; readonly keptMs: number },
  membersOf: MembersOf,
): ReadState {
  if (!group || version < firstVersionOf(group)) return { inbox, group, read: undefined };
  const times = { readTime: now, expireTime: now + keptMs };
  if (version >= versionOf(group)) {
    const { kind, target, peopleCount, firstMembers, latestMembers } = group;
    const read = { kind, target, peopleCount, firstMembers, latestMembers, ...times };
    return { inbox: replaceGroup(inbox, countedOf(group), undefined), group: undefined, read };
  }
  const { kind, target } = group;
  const { readCount, latestRead, firstUnread } = split(group, version, now, membersOf);
  const isKept = (member: Member) => member.version > version;
  const unread: UnreadGroup = {
    ...group,
    peopleCount: group.peopleCount - readCount,
    firstMembers: firstUnread.slice(0, shownFirst).map(memberOf),
    latestMembers: group.latestMembers.filter(isKept),
    recent: recentAfter(group, version, group.peopleCount - readCount),
  };
  const read: ReadGroup = {
    kind,
    target,
    peopleCount: readCount,
    firstMembers: group.firstMembers.filter((member) => !isKept(member)),
    latestMembers: latestRead.slice(0, shownLatest).map(memberOf),
    ...times,
  };
  const nextInbox = replaceGroup(inbox, countedOf(group), countedOf(unread));
  return { inbox: nextInbox, group: unread, read };
}

/** Both sides of a split: how many are read, the latest of them, and the first that stay unread. */
interface Split {
  readonly readCount: number;
  readonly latestRead: readonly Reaction[];
  readonly firstUnread: readonly Reaction[];
}

function split(group: UnreadGroup, version: number, now: Instant, membersOf: MembersOf): Split {
  const found = isSettled(group, now)
    ? toSplit(membersOf(splitAllAt(group, version)))
    : version < group.recent.after
      ? splitOlder(group, version, now, membersOf)
      : splitRecent(group, version, now, membersOf);
  const { readCount, latestRead, firstUnread } = found;
  const unreadCount = group.peopleCount - readCount;
  const isComplete =
    latestRead.length >= Math.min(shownLatest, Math.max(readCount, 1)) &&
    firstUnread.length >= Math.min(shownFirst, Math.max(unreadCount, 1));
  if (isComplete) return found;
  throw new DomainError("CONTENDED", "reactions of the group are being written");
}

const toSplit = ({ count, first, latest }: Members): Split => ({
  readCount: count,
  latestRead: latest,
  firstUnread: first,
});

function splitOlder(
  group: UnreadGroup,
  version: number,
  now: Instant,
  membersOf: MembersOf,
): Split {
  const found = toSplit(membersOf(splitOlderAt(group, now, version)));
  if (found.firstUnread.length >= shownFirst) return found;
  // When few of the older members are left, the first unread ones are recent.
  const older = membersOf(olderEnds(group, now, version + 1)).first;
  return { ...found, firstUnread: [...older, ...membersOf(recentOf(group, now)).first] };
}

function splitRecent(
  group: UnreadGroup,
  version: number,
  now: Instant,
  membersOf: MembersOf,
): Split {
  const { first } = membersOf(recentOf(group, now, version));
  const firstUnread = first.filter((row) => row.version > version);
  const readCount = group.peopleCount - firstUnread.length;
  const latestRead = first.filter((row) => row.version <= version).reverse();
  const wanted = Math.min(shownLatest, readCount);
  if (latestRead.length >= wanted) return { readCount, latestRead, firstUnread };
  const recent = membersOf(recentOf(group, now)).latest.filter((row) => row.version <= version);
  const older = recent.length < wanted ? membersOf(olderEnds(group, now)).latest : [];
  return { readCount, latestRead: [...recent, ...older], firstUnread };
}

/** The counts of the recent members after a split at `version`. */
function recentAfter({ recent }: UnreadGroup, version: number, unreadCount: number) {
  if (version < recent.after) return recent;
  const counted = { ...recent, after: version, count: unreadCount };
  return recent.middle < version
    ? { ...counted, middle: version, lateCount: unreadCount }
    : counted;
}
