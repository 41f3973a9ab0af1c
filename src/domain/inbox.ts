/** An owner's inbox: the counts of the unread groups, what the owner has seen, and the mutes. */

/** The counts of an owner's unread groups, their version, and what the owner has muted. */
export interface Inbox {
  /**
   * Grows by one with every change of a reaction to the owner's targets and with every change of
   * the unread groups. It is the version of the unread count.
   */
  readonly version: number;
  /** The number of unread groups. */
  readonly notificationCount: number;
  /** The distinct actors of each unread group, summed over the groups. */
  readonly actorCount: number;
  /** The version at which the owner has last seen the list of notifications. */
  readonly seenVersion: number;
  /** The versions of the unread groups beyond `seenVersion`, latest first, at most `maxUnseen`. */
  readonly unseen: readonly number[];
  /** The number of further unseen groups, all older than those of a full `unseen`. */
  readonly olderUnseenCount: number;
  readonly preferences: Preferences;
  /**
   * Short hashes of the ids of the people whom the owner has muted, one for each, at most
   * `maxMutedPeople`. Only a person with such a hash needs a further read.
   */
  readonly mutedPeople: readonly string[];
}

/** What an owner has muted, apart from targets and people. */
export interface Preferences {
  readonly allMuted: boolean;
  /** At most 8, so that an inbox stays below 1 KB. */
  readonly mutedKinds: readonly string[];
}

export const emptyInbox: Inbox = {
  version: 0,
  notificationCount: 0,
  actorCount: 0,
  seenVersion: 0,
  unseen: [],
  olderUnseenCount: 0,
  preferences: { allMuted: false, mutedKinds: [] },
  mutedPeople: [],
};

/** How many people an owner can mute. Every like reads their hashes with the inbox. */
export const maxMutedPeople = 100;

/** The length of a hash in characters. */
export const personHashLength = 3;

/** How many unseen groups are counted one by one. A badge shows more of them as "99+". */
export const maxUnseen = 99;

/** What the badge of an owner shows. */
export interface Badge {
  readonly notificationCount: number;
  readonly actorCount: number;
  /** At most `maxUnseen`. */
  readonly unseenNotificationCount: number;
}

export const badgeOf = ({ notificationCount, actorCount, ...inbox }: Inbox): Badge => ({
  notificationCount,
  actorCount,
  unseenNotificationCount: Math.min(inbox.unseen.length + inbox.olderUnseenCount, maxUnseen),
});

/** The version and the size of an unread group, as far as the inbox counts them. */
interface Counted {
  readonly version: number;
  readonly actorCount: number;
}

/** Returns the next version of the inbox, in which an unread group has changed, begun or ended. */
export function replaceGroup(
  inbox: Inbox,
  before: Counted | undefined,
  after: Counted | undefined,
): Inbox {
  return {
    ...replaceUnseen(inbox, before?.version, after?.version),
    version: inbox.version + 1,
    notificationCount: inbox.notificationCount + (after ? 1 : 0) - (before ? 1 : 0),
    actorCount: inbox.actorCount + (after?.actorCount ?? 0) - (before?.actorCount ?? 0),
  };
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
  return {
    ...inbox,
    version: inbox.version + (isChanged ? 1 : 0),
    seenVersion,
    unseen: later,
    olderUnseenCount: 0,
  };
}
