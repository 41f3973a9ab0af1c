/** An owner's inbox: the counts of the unread groups, what the owner has seen, and the mutes. */
import {
  countIn,
  isEventKind,
  type KindCounts,
  kindName,
  type ReactionKind,
  type StoredKind,
} from "./kinds.ts";
import { type MutedPeople, nobodyMuted } from "./muted-people.ts";

/** The counts of an owner's unread groups, their version, and what the owner has muted. */
export interface Inbox {
  /**
   * Grows by one with every change of a reaction to the owner's targets and with every change of
   * the unread groups. It is the version of the unread count.
   */
  readonly version: number;
  /**
   * The version at which a group, unread or read, or what the owner has seen of them, has last
   * changed. Later versions have changed nothing of what the owner is shown: they are those of
   * reactions and events that notify nobody, and of what was unreacted or retracted after it was
   * read.
   */
  readonly changeVersion: number;
  /** The number of unread groups. */
  readonly notificationCount: number;
  /** How many of them are closed. */
  readonly closedCount: number;
  /** The distinct actors of each unread group, summed over the groups. */
  readonly actorCount: number;
  /** The version at which the owner has last seen the list of notifications. */
  readonly seenVersion: number;
  /** The versions of the unread groups beyond `seenVersion`, latest first, at most `maxUnseen`. */
  readonly unseen: readonly number[];
  /** The number of further unseen groups, all older than those of a full `unseen`. */
  readonly olderUnseenCount: number;
  /**
   * The numbers of unread groups of at most `maxCountedKinds` kinds. A kind has a number only if
   * all its unread groups are counted.
   */
  readonly kindCounts: KindCounts;
  readonly preferences: Preferences;
  readonly mutedPeople: MutedPeople;
}

/** The mutes of an owner, apart from targets and people. */
export interface Preferences {
  readonly allMuted: boolean;
  /** Kinds of reactions, at most 8. */
  readonly mutedKinds: readonly ReactionKind[];
  /** Kinds of events as callers name them, at most 8. */
  readonly mutedEventKinds: readonly string[];
}

/** Whether an owner gets no notifications of a kind, of reactions or of events. */
export function isKindMuted(preferences: Preferences, kind: StoredKind): boolean {
  const { allMuted, mutedKinds, mutedEventKinds } = preferences;
  return allMuted || (isEventKind(kind) ? mutedEventKinds : mutedKinds).includes(kindName(kind));
}

export const emptyInbox: Inbox = {
  version: 0,
  changeVersion: 0,
  notificationCount: 0,
  closedCount: 0,
  actorCount: 0,
  seenVersion: 0,
  unseen: [],
  olderUnseenCount: 0,
  kindCounts: {},
  preferences: { allMuted: false, mutedKinds: [], mutedEventKinds: [] },
  mutedPeople: nobodyMuted,
};

/** How many unseen groups are counted one by one. A badge shows more of them as "99+". */
export const maxUnseen = 99;

/** Of how many kinds the unread groups are counted by kind. */
export const maxCountedKinds = 16;

/** The numbers that the badge of an owner shows. */
export interface Badge {
  readonly notificationCount: number;
  readonly actorCount: number;
  /** At most `maxUnseen`. */
  readonly unseenNotificationCount: number;
  /** The numbers of notifications by kind, as the inbox counts them. */
  readonly kindCounts: KindCounts;
}

export const badgeOf = ({ notificationCount, actorCount, kindCounts, ...inbox }: Inbox): Badge => ({
  notificationCount,
  actorCount,
  kindCounts,
  unseenNotificationCount: Math.min(inbox.unseen.length + inbox.olderUnseenCount, maxUnseen),
});

/** Kind, version and size of an unread group, as far as the inbox counts them. */
interface Counted {
  readonly kind: StoredKind;
  readonly version: number;
  readonly actorCount: number;
  readonly isClosed?: boolean;
}

/**
 * Returns the next version of the inbox, in which an unread group has changed, begun or ended. Both
 * are of one kind.
 */
export function replaceGroup(
  inbox: Inbox,
  before: Counted | undefined,
  after: Counted | undefined,
): Inbox {
  const version = inbox.version + 1;
  return {
    ...replaceUnseen(inbox, before?.version, after?.version),
    version,
    changeVersion: version,
    notificationCount: inbox.notificationCount + (after ? 1 : 0) - (before ? 1 : 0),
    closedCount: inbox.closedCount + (after?.isClosed ? 1 : 0) - (before?.isClosed ? 1 : 0),
    actorCount: inbox.actorCount + (after?.actorCount ?? 0) - (before?.actorCount ?? 0),
    kindCounts: replaceKind(inbox, before?.kind, after?.kind),
  };
}

/** Returns the next version of the inbox, in which a read group has changed or ended. */
export const withReadChange = (inbox: Inbox): Inbox => {
  const version = inbox.version + 1;
  return { ...inbox, version, changeVersion: version };
};

/**
 * A group of a kind without a number gets one only while no unread group is uncounted: otherwise
 * it might be one of several of its kind.
 */
function replaceKind(
  { kindCounts, notificationCount }: Inbox,
  before: StoredKind | undefined,
  after: StoredKind | undefined,
): KindCounts {
  const kind = before ?? after;
  if (kind === undefined || before === after) return kindCounts;
  const { [kind]: _, ...others } = kindCounts;
  const count = countIn(kindCounts, kind);
  if (after === undefined) return count > 1 ? { ...others, [kind]: count - 1 } : others;
  if (count > 0) return { ...others, [kind]: count + 1 };
  const counts = Object.values(kindCounts);
  const isComplete = counts.reduce((sum, each) => sum + each, 0) === notificationCount;
  return isComplete && counts.length < maxCountedKinds ? { ...others, [kind]: 1 } : kindCounts;
}

function replaceUnseen(inbox: Inbox, before: number | undefined, after: number | undefined) {
  if (before === after) return inbox;
  const without = before === undefined ? inbox : removeUnseen(inbox, before);
  return after === undefined ? without : addUnseen(without, after);
}

function removeUnseen(inbox: Inbox, version: number): Inbox {
  const { unseen, olderUnseenCount, seenVersion } = inbox;
  if (version <= seenVersion) return inbox;
  const kept = unseen.filter((each) => each !== version);
  if (kept.length < unseen.length) return { ...inbox, unseen: kept };
  return { ...inbox, olderUnseenCount: Math.max(0, olderUnseenCount - 1) };
}

function addUnseen(inbox: Inbox, version: number): Inbox {
  const { unseen, olderUnseenCount, seenVersion } = inbox;
  if (version <= seenVersion) return inbox;
  // With none counted one by one, only a new version is certainly later than the older ones.
  const isOlder = olderUnseenCount > 0 && version < (unseen.at(-1) ?? inbox.version + 1);
  if (isOlder) return { ...inbox, olderUnseenCount: olderUnseenCount + 1 };
  const at = unseen.findIndex((each) => each < version);
  const all = unseen.toSpliced(at < 0 ? unseen.length : at, 0, version);
  if (all.length <= maxUnseen) return { ...inbox, unseen: all };
  return { ...inbox, unseen: all.slice(0, -1), olderUnseenCount: olderUnseenCount + 1 };
}

/**
 * Notes that the owner has seen the list at `version`; a version beyond the inbox counts as its
 * own. Returns the same inbox when nothing is unseen, or for a version before that of an earlier
 * call. Keeps the version of the inbox when no unread group becomes seen: then only a group whose
 * later members leave again shows the difference.
 *
 * Changes nothing either while there are older unseen groups and `version` is below those that are
 * counted one by one, because it is not known how many of the older ones had been seen by then.
 */
export function markSeen(inbox: Inbox, version: number): Inbox {
  const { unseen, olderUnseenCount } = inbox;
  const seenVersion = Math.min(version, inbox.version);
  if (seenVersion <= inbox.seenVersion || unseen.length + olderUnseenCount === 0) return inbox;
  const later = unseen.filter((each) => each > seenVersion);
  const hasOlder = olderUnseenCount > 0;
  if (hasOlder && seenVersion < (unseen.at(-1) ?? inbox.version)) return inbox;
  const isChanged = hasOlder || later.length < unseen.length;
  const changeVersion = inbox.version + 1;
  return {
    ...inbox,
    ...(isChanged && { version: changeVersion, changeVersion }),
    seenVersion,
    unseen: later,
    olderUnseenCount: 0,
  };
}
