/** Unread groups: how members join and leave, which of them are shown, and what is counted. */

import type { Instant } from "../../platform/words/month.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { StoredKind } from "./kinds.ts";
import { beginRecent, type Recent, withChanged, withJoined } from "./recent-members.ts";
import type { Position, Reaction } from "./target.ts";

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
  /**
   * The version of the owner's inbox at which the group began. No other group of this kind and
   * target ever has it, so it names the group, unread and read.
   */
  readonly generation: number;
  /** The number of members. */
  readonly memberCount: number;
  /** The number of people among the members. */
  readonly actorCount: number;
  /** The two earliest members, earliest first. */
  readonly firstMembers: readonly Member[];
  /** The three latest members, latest first. Members of a small group are in both lists. */
  readonly latestMembers: readonly Member[];
}

/**
 * Unread reactions of one kind to one target. The members of the open group are the notified
 * reactions whose version is its generation or later; those of a closed one have versions up to its
 * last one.
 */
export interface UnreadGroup extends Group {
  /**
   * Grows whenever a member leaves, comes back to its position or takes another name: what was read
   * of the members is then old.
   */
  readonly leaveCount: number;
  /** When a member has last left, come back or taken another name; 0 if none has. */
  readonly leaveTime: Instant;
  readonly recent: Recent;
  /** Set if the group takes in nobody new, who begins another one. */
  readonly closed?: Closed;
}

/** The fields that only a closed group has. */
interface Closed {
  /** The version of the last member that it has had. */
  readonly endVersion: number;
  /**
   * Whether it was read, and is unread again. Its counts are those of history: people who have
   * unreacted meanwhile still count.
   */
  readonly wasRead: boolean;
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

export const firstVersionOf = ({ firstMembers }: Group): number =>
  (firstMembers[0] as Member).version;

/** The version of the latest member, which is the version of the group. */
export const versionOf = ({ latestMembers }: Group): number => (latestMembers[0] as Member).version;

/** The fields of a group that the counts of the inbox depend on. */
export const inboxCountsOf = (group: UnreadGroup | undefined) =>
  group && {
    kind: group.kind,
    version: versionOf(group),
    actorCount: group.actorCount,
    isClosed: group.closed !== undefined,
  };

/** Members at the two ends of a group or of a part of it. */
export interface Ends {
  /** The earliest ones, earliest first. */
  readonly first: readonly Member[];
  /** The latest ones, latest first. */
  readonly latest: readonly Member[];
}

/**
 * Adds a member, who is later than all others, to a group. Without a group it begins one. The
 * member counts as one more person.
 */
export function join(
  group: UnreadGroup | undefined,
  { target, kind, ...joining }: Member & Pick<Group, "target" | "kind">,
): UnreadGroup {
  const member = memberOf(joining);
  if (!group) return begin({ kind, target, generation: member.version }, member);
  const { memberCount, actorCount, firstMembers, latestMembers } = group;
  return {
    ...group,
    memberCount: memberCount + 1,
    actorCount: actorCount + 1,
    firstMembers: firstMembers.length < shownFirst ? [...firstMembers, member] : firstMembers,
    latestMembers: [member, ...latestMembers].slice(0, shownLatest),
    recent: withJoined(group.recent, member),
  };
}

function begin(name: Pick<Group, "kind" | "target" | "generation">, member: Member): UnreadGroup {
  const recent = beginRecent(name.generation, member);
  const members = { memberCount: 1, actorCount: 1, firstMembers: [member] };
  const leaves = { leaveCount: 0, leaveTime: 0 };
  return { ...name, ...members, latestMembers: [member], ...leaves, recent };
}

/**
 * Whether somebody who has left comes back to the own position. Into a large group only recent
 * members do: a query for older ones could miss one whose transaction is still being applied.
 */
export const hasPosition = (group: UnreadGroup, { version }: Position): boolean =>
  isInRange(group, version) && version > group.recent.after;

/** Whether a group has the notified reaction, or the event, of a version. */
const isInRange = ({ generation, closed }: UnreadGroup, version: number): boolean =>
  version >= generation && version <= (closed?.endVersion ?? version);

/**
 * Adds a member in the position that it had. Without a group, begins the one anew of which it was a
 * member. `leaveCount` is larger than any that a group of this generation has had.
 */
export function comeBack(
  group: UnreadGroup | undefined,
  { target, kind, ...coming }: Member & Pick<Group, "target" | "kind">,
  { generation, leaveCount }: Pick<Position, "generation"> & { readonly leaveCount: number },
): UnreadGroup {
  const member = memberOf(coming);
  const leaves = { leaveCount, leaveTime: member.createTime };
  if (!group) {
    const name = { kind, target, generation: generation ?? member.version };
    return { ...begin(name, member), ...leaves };
  }
  const { memberCount, actorCount } = group;
  const members = inOrder([...group.firstMembers, ...group.latestMembers, member]);
  return {
    ...group,
    ...leaves,
    memberCount: memberCount + 1,
    actorCount: actorCount + 1,
    firstMembers: members.slice(0, shownFirst),
    latestMembers: members.toReversed().slice(0, shownLatest),
    recent: withChanged(group.recent, member.version, 1),
  };
}

/** Whether a reaction is a member of its unread group. */
export const isMember = (
  group: UnreadGroup | undefined,
  { notified, version }: Reaction,
): group is UnreadGroup => group !== undefined && notified && isInRange(group, version);

/** The members of a group that is so small that it shows all of them, earliest first. */
export function allShown(group: Group): readonly Member[] | undefined {
  const { memberCount, firstMembers, latestMembers } = group;
  if (memberCount > shownFirst + shownLatest) return undefined;
  return inOrder([...firstMembers, ...latestMembers]);
}

/**
 * Removes a member, who counts as one person, from a group. If the group shows the member, but not
 * all members, `refill` has those at that end, with or without the leaving one. The version of the
 * group, on which its place in the list and the unseen count depend, is that of its latest member.
 * Returns undefined when nobody is left who can be shown.
 */
export function leave(
  group: UnreadGroup,
  { version }: Pick<Member, "version">,
  now: Instant,
  refill: Partial<Ends> = {},
): UnreadGroup | undefined {
  const remaining = removeMember(group, version, refill);
  const recent = withChanged(group.recent, version, -1);
  return remaining && { ...remaining, leaveCount: group.leaveCount + 1, leaveTime: now, recent };
}

/**
 * The group with another name of the member of a version. A group that does not show this member
 * changes as well: somebody whose members were read before would put the old name into it.
 */
export function withName(
  group: UnreadGroup,
  { version, displayName }: Pick<Member, "version" | "displayName">,
  now: Instant,
): UnreadGroup {
  const renamed = (members: readonly Member[]) =>
    members.map((each) => (each.version === version ? { ...each, displayName } : each));
  return {
    ...group,
    firstMembers: renamed(group.firstMembers),
    latestMembers: renamed(group.latestMembers),
    leaveCount: group.leaveCount + 1,
    leaveTime: now,
  };
}

/**
 * As `leave`, of a group whose members are not counted apart. A group that was read also counts who
 * had unreacted by then: of these alone nobody can be shown, so it ends before them.
 */
export function removeMember<G extends Group>(
  group: G,
  version: number,
  { first = [], latest = [] }: Partial<Ends>,
): G | undefined {
  // Those whom a group that was read shows keep the names of that time.
  const known = [...first, ...latest, ...group.firstMembers, ...group.latestMembers];
  const members = inOrder(known).filter((member) => member.version !== version);
  if (members.length === 0) return undefined;
  return {
    ...group,
    memberCount: group.memberCount - 1,
    actorCount: group.actorCount - 1,
    firstMembers: members.slice(0, shownFirst).map(memberOf),
    latestMembers: members.toReversed().slice(0, shownLatest).map(memberOf),
  };
}

/** Different members, earliest first. */
export const inOrder = (members: readonly Member[]): Member[] =>
  [...new Map(members.map((each) => [each.version, each])).values()].sort(
    (a, b) => a.version - b.version,
  );

/** Drops the other properties of a reaction. */
export const memberOf = ({ userId, displayName, version, createTime }: Member): Member => ({
  userId,
  displayName,
  version,
  createTime,
});
