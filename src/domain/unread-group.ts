/** Unread groups: their members, how they join and leave, and which reads of them are needed. */
import type { Instant } from "./month.ts";
import type { Reaction, TargetName } from "./target.ts";

/** A person who reacts. The name is for display only. */
export interface Actor {
  readonly userId: string;
  readonly displayName: string;
}

/** A member of a group that is shown by name. */
export interface Member extends Actor {
  /** The version of the owner's inbox at which the member joined. */
  readonly version: number;
  readonly createTime: Instant;
}

/** Reactions of one kind to one target, as they are shown. */
export interface Group {
  readonly kind: string;
  readonly target: TargetName;
  /** The number of members. */
  readonly peopleCount: number;
  /** The two earliest members, earliest first. */
  readonly firstMembers: readonly Member[];
  /** The three latest members, latest first. Members of a small group are in both lists. */
  readonly latestMembers: readonly Member[];
}

/**
 * All unread reactions of one kind to one target. Its members are the notified reactions whose
 * version is that of the first member or later.
 */
export interface UnreadGroup extends Group {
  /** Grows by one whenever a member leaves: what was counted among earlier members is then old. */
  readonly leaveCount: number;
  /** When a member has last left; 0 if none has. */
  readonly leaveTime: Instant;
  readonly recent: Recent;
}

/**
 * The counts of the latest members: at least 45 of a large group, and all of the last second. A
 * read of these members is complete if it finds as many of them (docs/decisions/0020).
 */
interface Recent {
  /** The members that joined after this version are counted. */
  readonly after: number;
  readonly count: number;
  /** The members after this later version are counted, too: they are the next ones to be kept. */
  readonly middle: number;
  readonly lateCount: number;
  /** When the member of the version `middle` joined. */
  readonly middleTime: Instant;
}

/** A group as it was when it was read. */
export interface ReadGroup extends Group {
  readonly readTime: Instant;
  /** From this instant on, readers do not get it any more. */
  readonly expireTime: Instant;
}

/** How many members are named at each end of a group. */
export const shownFirst = 2;
export const shownLatest = 3;

/** The latest members are counted from a new version on after this many joins. */
const recentStep = 45;

/**
 * After this long, all items of a transaction are applied: a query finds the row of a member who
 * has joined before, and does not find that of a member who has left before.
 */
const appliedMs = 1_000;

const isApplied = (time: Instant, now: Instant): boolean => time <= now - appliedMs;

export const firstVersionOf = ({ firstMembers }: Group): number =>
  (firstMembers[0] as Member).version;

/** The version of the latest member, which is the version of the group. */
export const versionOf = ({ latestMembers }: Group): number => (latestMembers[0] as Member).version;

/** The size and the version of a group, as the inbox counts them. */
export const countedOf = (group: UnreadGroup | undefined) =>
  group && { version: versionOf(group), peopleCount: group.peopleCount };

/** A query for members of one group. Its result is kept and used as long as `key` is the same. */
export type MemberRange = {
  readonly key: string;
  /** Whether rows of members who have left may not be deleted yet. */
  readonly hasLeavers: boolean;
} & (
  | {
      /** All members after a version, as many as `count`: `first` and `latest` have all of them. */
      readonly read: "recent";
      readonly after: number;
      readonly count: number;
    }
  | {
      /**
       * The split of the members between two versions, both included: `count` is the number of
       * members up to `at`, `latest` has the last of them, and `first` the first ones after `at`.
       */
      readonly read: "split";
      readonly from: number;
      readonly at: number;
      readonly to: number;
      /**
       * The number of all members in the range, so that only the shorter side has to be counted.
       * With leavers, both sides are counted, and the result is valid if the sum is this number.
       */
      readonly total: number;
    }
  | {
      /** The first and the latest members between two versions, both included. */
      readonly read: "ends";
      readonly from: number;
      readonly to: number;
    }
);

/** The result of a query, at each end one member more than a group shows. */
export interface Members {
  /** The number of members that the query counts; 0 for "ends". */
  readonly count: number;
  /** The number of members after a split, if both sides were counted. */
  readonly restCount?: number;
  readonly first: readonly Reaction[];
  readonly latest: readonly Reaction[];
}

export type MembersOf = (range: MemberRange) => Members;

/** Adds a reaction, which is later than all members, to a group. Without a group it begins one. */
export function join(
  group: UnreadGroup | undefined,
  { target, kind, ...row }: Reaction,
): UnreadGroup {
  const member = memberOf(row);
  if (!group) {
    const before = member.version - 1;
    const middleTime = member.createTime;
    const recent = { after: before, count: 1, middle: before, lateCount: 1, middleTime };
    const members = { firstMembers: [member], latestMembers: [member] };
    return { kind, target, peopleCount: 1, ...members, leaveCount: 0, leaveTime: 0, recent };
  }
  const { peopleCount, firstMembers, latestMembers } = group;
  return {
    ...group,
    peopleCount: peopleCount + 1,
    firstMembers: firstMembers.length < shownFirst ? [...firstMembers, member] : firstMembers,
    latestMembers: [member, ...latestMembers].slice(0, shownLatest),
    recent: withJoined(group.recent, member),
  };
}

function withJoined(recent: Recent, { version, createTime }: Member): Recent {
  const lateCount = recent.lateCount + 1;
  if (lateCount < recentStep || !isApplied(recent.middleTime, createTime)) {
    return { ...recent, count: recent.count + 1, lateCount };
  }
  const { middle } = recent;
  return { after: middle, count: lateCount, middle: version, lateCount: 0, middleTime: createTime };
}

/**
 * Removes a member from a group and replaces its name if the group showed it. Returns undefined
 * when it was the last member.
 */
export function leave(
  group: UnreadGroup,
  { userId, version }: Pick<Member, "userId" | "version">,
  now: Instant,
  membersOf: MembersOf,
): UnreadGroup | undefined {
  const peopleCount = group.peopleCount - 1;
  if (peopleCount === 0) return undefined;
  const { firstMembers, latestMembers, recent } = group;
  const remaining: UnreadGroup = {
    ...group,
    peopleCount,
    leaveCount: group.leaveCount + 1,
    leaveTime: now,
    recent: {
      ...recent,
      count: recent.count - (version > recent.after ? 1 : 0),
      lateCount: recent.lateCount - (version > recent.middle ? 1 : 0),
    },
  };
  const remains = (member: Actor) => member.userId !== userId;
  const isFirst = !firstMembers.every(remains);
  const isLatest = !latestMembers.every(remains);
  if (!isFirst && !isLatest) return remaining;
  const found = { first: firstMembers, latest: latestMembers };
  if (peopleCount < shownFirst + shownLatest) {
    // A group of this size shows all its members.
    const all = new Map([...firstMembers, ...latestMembers].map((each) => [each.version, each]));
    found.first = [...all.values()].sort((a, b) => a.version - b.version);
    found.latest = found.first.toReversed();
  } else {
    Object.assign(found, readEnds(group, { isFirst, isLatest }, now, membersOf));
  }
  return {
    ...remaining,
    firstMembers: found.first.filter(remains).slice(0, shownFirst).map(memberOf),
    latestMembers: found.latest.filter(remains).slice(0, shownLatest).map(memberOf),
  };
}

/** Reads the members at those ends of a group at which one leaves. */
function readEnds(
  group: UnreadGroup,
  { isFirst, isLatest }: { readonly isFirst: boolean; readonly isLatest: boolean },
  now: Instant,
  membersOf: MembersOf,
) {
  const { count } = group.recent;
  const olderCount = group.peopleCount - count;
  const needsRecent = isLatest || olderCount <= shownFirst;
  const recent = needsRecent ? membersOf(recentOf(group, now)) : undefined;
  const needsOlder = olderCount > 0 && (isFirst || count <= shownLatest);
  const older = needsOlder ? membersOf(olderEnds(group, now)) : undefined;
  const first = [...(older?.first ?? []), ...(recent?.first ?? [])];
  const latest = [...(recent?.latest ?? []), ...(older?.latest ?? [])];
  return { ...(isFirst && { first }), ...(isLatest && { latest }) };
}

/** Whether any query finds the rows of all members, and no other rows. */
export const isSettled = (group: UnreadGroup, now: Instant): boolean =>
  isApplied((group.latestMembers[0] as Member).createTime, now) && isApplied(group.leaveTime, now);

const hasLeavers = ({ leaveTime }: UnreadGroup, now: Instant) => !isApplied(leaveTime, now);

/** The query for all recent members, or for the latest of them if these include all after `at`. */
export function recentOf(group: UnreadGroup, now: Instant, at = 0): MemberRange {
  const { recent, leaveCount } = group;
  const isLate = at >= recent.middle;
  const after = isLate ? recent.middle : recent.after;
  const count = isLate ? recent.lateCount : recent.count;
  const key = `recent ${after} ${versionOf(group)} ${leaveCount}`;
  return { key, hasLeavers: hasLeavers(group, now), read: "recent", after, count };
}

/** The query for the ends of the members before the recent ones, from a version on. */
export function olderEnds(
  group: UnreadGroup,
  now: Instant,
  from = firstVersionOf(group),
): MemberRange {
  const to = group.recent.after;
  const key = `ends ${from} ${to} ${group.leaveCount}`;
  return { key, hasLeavers: hasLeavers(group, now), read: "ends", from, to };
}

/**
 * The query for a split at a version before the recent members. Its result stays valid while people
 * join, which they do after `to`: only a member who leaves changes it.
 */
export function splitOlderAt(group: UnreadGroup, now: Instant, at: number): MemberRange {
  const { peopleCount, leaveCount, recent } = group;
  const from = firstVersionOf(group);
  const total = peopleCount - recent.count;
  const key = `split ${from} ${at} ${leaveCount}`;
  return {
    key,
    hasLeavers: hasLeavers(group, now),
    read: "split",
    from,
    at,
    to: recent.after,
    total,
  };
}

/** The query for a split of a settled group at any version. */
export function splitAllAt(group: UnreadGroup, at: number): MemberRange {
  const { peopleCount: total, leaveCount } = group;
  const from = firstVersionOf(group);
  const to = versionOf(group);
  const key = `all ${from} ${at} ${to} ${leaveCount}`;
  return { key, hasLeavers: false, read: "split", from, at, to, total };
}

/** Drops the other properties of a reaction. */
export const memberOf = ({ userId, displayName, version, createTime }: Member): Member => ({
  userId,
  displayName,
  version,
  createTime,
});
