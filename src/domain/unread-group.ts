/** Unread groups: how members join and leave, which of them are shown, and what is counted. */
import type { StoredKind } from "./kinds.ts";
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
  readonly kind: StoredKind;
  readonly target: TargetName;
  /** The number of members. */
  readonly actorCount: number;
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
 * The counts of the recent members: at least the latest 45 of a large group, and all who joined
 * within `recentMs` (docs/decisions/0020).
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

/** A member who joined within this time is always counted as recent. */
export const recentMs = 1_000;

export const firstVersionOf = ({ firstMembers }: Group): number =>
  (firstMembers[0] as Member).version;

/** The version of the latest member, which is the version of the group. */
export const versionOf = ({ latestMembers }: Group): number => (latestMembers[0] as Member).version;

/** The size and the version of a group, as the inbox counts them. */
export const countedOf = (group: UnreadGroup | undefined) =>
  group && { version: versionOf(group), actorCount: group.actorCount };

/** Members at the two ends of a group or of a part of it. */
export interface Ends {
  /** The earliest ones, earliest first. */
  readonly first: readonly Member[];
  /** The latest ones, latest first. */
  readonly latest: readonly Member[];
}

/** Adds a reaction, which is later than all members, to a group. Without a group it begins one. */
export function join(
  group: UnreadGroup | undefined,
  { target, kind, ...reaction }: Reaction,
): UnreadGroup {
  const member = memberOf(reaction);
  if (!group) {
    const before = member.version - 1;
    const middleTime = member.createTime;
    const recent = { after: before, count: 1, middle: before, lateCount: 1, middleTime };
    const members = { firstMembers: [member], latestMembers: [member] };
    return { kind, target, actorCount: 1, ...members, leaveCount: 0, leaveTime: 0, recent };
  }
  const { actorCount, firstMembers, latestMembers } = group;
  return {
    ...group,
    actorCount: actorCount + 1,
    firstMembers: firstMembers.length < shownFirst ? [...firstMembers, member] : firstMembers,
    latestMembers: [member, ...latestMembers].slice(0, shownLatest),
    recent: withJoined(group.recent, member),
  };
}

function withJoined(recent: Recent, { version, createTime }: Member): Recent {
  const lateCount = recent.lateCount + 1;
  if (lateCount < recentStep || recent.middleTime > createTime - recentMs) {
    return { ...recent, count: recent.count + 1, lateCount };
  }
  const { middle } = recent;
  return { after: middle, count: lateCount, middle: version, lateCount: 0, middleTime: createTime };
}

/** Whether a reaction is a member of its unread group. */
export const isMember = (
  group: UnreadGroup | undefined,
  { notified, version }: Reaction,
): group is UnreadGroup => group !== undefined && notified && version >= firstVersionOf(group);

/** The members of a group that is so small that it shows all of them, earliest first. */
export function allShown(group: UnreadGroup): readonly Member[] | undefined {
  const { actorCount, firstMembers, latestMembers } = group;
  if (actorCount > shownFirst + shownLatest) return undefined;
  const all = new Map([...firstMembers, ...latestMembers].map((each) => [each.version, each]));
  return [...all.values()].sort((a, b) => a.version - b.version);
}

/**
 * At which ends a group shows a person without having the member who is shown there instead when
 * the person leaves. Undefined when it needs no such member.
 */
export function endsToRefill(
  group: UnreadGroup,
  userId: string,
): { readonly first: boolean; readonly latest: boolean } | undefined {
  if (allShown(group)) return undefined;
  const shows = (members: readonly Member[]) => members.some((each) => each.userId === userId);
  const ends = { first: shows(group.firstMembers), latest: shows(group.latestMembers) };
  return ends.first || ends.latest ? ends : undefined;
}

/**
 * Removes a member from a group. `refill` has the members at the ends that `endsToRefill` names,
 * with or without the leaving member. Returns undefined when it was the last member.
 */
export function leave(
  group: UnreadGroup,
  { userId, version }: Pick<Member, "userId" | "version">,
  now: Instant,
  refill: Partial<Ends> = {},
): UnreadGroup | undefined {
  const actorCount = group.actorCount - 1;
  if (actorCount === 0) return undefined;
  const { recent } = group;
  const all = allShown(group);
  const { first = all ?? group.firstMembers, latest = all?.toReversed() ?? group.latestMembers } =
    refill;
  const remains = (member: Actor) => member.userId !== userId;
  return {
    ...group,
    actorCount,
    firstMembers: first.filter(remains).slice(0, shownFirst).map(memberOf),
    latestMembers: latest.filter(remains).slice(0, shownLatest).map(memberOf),
    leaveCount: group.leaveCount + 1,
    leaveTime: now,
    recent: {
      ...recent,
      count: recent.count - (version > recent.after ? 1 : 0),
      lateCount: recent.lateCount - (version > recent.middle ? 1 : 0),
    },
  };
}

/** Drops the other properties of a reaction. */
export const memberOf = ({ userId, displayName, version, createTime }: Member): Member => ({
  userId,
  displayName,
  version,
  createTime,
});
