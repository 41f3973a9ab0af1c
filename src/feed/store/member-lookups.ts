/**
 * Lookups of the members of a group: those that a mark as read divides, and those that are shown
 * when somebody leaves.
 *
 * A query may not find a member whose transaction is still being applied, and may find one who has
 * left: DynamoDB applies the items of a transaction one after another, within milliseconds. So what
 * is read has to agree with the counts in the record of the group (docs/decisions/0020).
 */

import { appliedMs, type Lookup } from "../../platform/ports/engine.ts";
import type { Ref } from "../../platform/ports/records.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { MemberRecord, MembersName, SeenGroup } from "../ports/notifications.ts";
import { notificationEventRef, ownerOfGroup, reactionRef } from "../ports/records.ts";
import { isEventKind } from "../rules/kinds.ts";
import type { Split } from "../rules/notification.ts";
import {
  allShown,
  type Ends,
  type Group,
  type Member,
  type ReadGroup,
  shownFirst,
  shownLatest,
  type UnreadGroup,
  versionOf,
} from "../rules/unread-group.ts";
import type { MemberQueries } from "./group-members.ts";

/** A group as a decision sees it, and where its members are read. */
export interface LookedUpGroup<G extends UnreadGroup | ReadGroup = UnreadGroup>
  extends SeenGroup<G> {
  readonly queries: MemberQueries;
}

/** The ends of a group at which members are looked up. */
interface WantedEnds {
  readonly first: boolean;
  readonly latest: boolean;
}

/** The members found, and whether people who join later leave the result as it is. */
type Found<T> = T & { readonly lasts: boolean };

/** Looks up both sides of a version that divides the members of a group. */
export function lookUpSplit(looked: LookedUpGroup, version: number): Lookup<Found<Split>> {
  const { group, now } = looked;
  return lookUp(looked, `split ${version}`, async (members) => {
    const split = isApplied(group, now)
      ? await splitAll(members, group, version)
      : version < group.recent.after
        ? await splitOlder(members, group, version)
        : await splitRecent(members, group, version);
    return split && isComplete(split, group) ? split : undefined;
  });
}

/**
 * Looks up the members at the ends of a group that show the one of a version, who leaves. Undefined
 * if there is no such end, or if the group shows all members.
 */
export function lookUpRefill(
  { group, ...looked }: LookedUpGroup<UnreadGroup | ReadGroup>,
  version: number,
): Lookup<Partial<Ends>> | undefined {
  const shows = (members: readonly Member[]) => members.some((each) => each.version === version);
  const ends = { first: shows(group.firstMembers), latest: shows(group.latestMembers) };
  if (allShown(group) || !(ends.first || ends.latest)) return undefined;
  if ("readTime" in group) return lookUpReadEnds({ ...looked, group });
  const seen = { ...looked, group };
  const name = `ends ${ends.first} ${ends.latest}`;
  return lookUp(seen, name, (members) => readEnds(members, seen, ends));
}

/** Looks up the members at both ends of a read group. */
function lookUpReadEnds({
  queries,
  ref,
  group,
  now,
}: LookedUpGroup<ReadGroup>): Lookup<Partial<Ends>> {
  const name = membersNameOf(ownerOfGroup(ref), group);
  return {
    // Members only leave a read group, so their number tells one state from another.
    name: `${ref.id} ${group.memberCount} ends`,
    source: ref,
    holds: () => true,
    async read() {
      const [latest] = group.latestMembers as [Member];
      // A transaction of the last second may still be applied.
      if (latest.createTime > now - appliedMs) return undefined;
      const result = await queries.memberEnds(name, group.generation, versionOf(group));
      return { result, unchanged: toValidate([...result.first, ...result.latest]) };
    },
  };
}

/** The records that have to be unchanged if these members are to be as they were read. */
export function toValidate(members: readonly MemberRecord[]) {
  const different = new Map(members.map((value) => [value.version, value]));
  return [...different.values()].map((value) => ({ ref: memberRefOf(value), value }));
}

/**
 * Makes a lookup whose result is used until somebody leaves the group or takes another name, or the
 * owner reads it, and, unless it lasts, until somebody joins.
 */
function lookUp<T>(
  looked: LookedUpGroup,
  what: string,
  plan: (members: GroupQueries) => Promise<Found<T> | undefined>,
): Lookup<Found<T> & { readonly version: number }> {
  const { ref, group } = looked;
  const version = versionOf(group);
  return {
    name: `${ref.id} ${group.generation} ${group.leaveCount} ${what}`,
    source: ref,
    holds: (result) => result.lasts || result.version === version,
    async read() {
      const members = new GroupQueries(looked);
      const found = await plan(members);
      return found && { result: { ...found, version }, unchanged: members.toValidate };
    },
  };
}

/** Without what came in after a group was closed. */
export const withinEnd = <M extends Pick<Member, "version">>(
  members: readonly M[],
  { closed }: UnreadGroup,
): M[] => members.filter(({ version }) => version <= (closed?.endVersion ?? version));

/** Names the members of a group: reactions to the target, or the events of its owner. */
export function membersNameOf(ownerId: string, { target, kind }: Group): MembersName {
  return isEventKind(kind) ? { ownerId, target, kind } : { target, kind };
}

/** The record of a member. */
const memberRefOf = (member: MemberRecord): Ref =>
  "previousVersion" in member
    ? notificationEventRef(member, member.userId, member.version)
    : reactionRef(member.target, member.kind, member.userId);

/** Whether the transactions of all changes of a group are applied, so that any query is right. */
export const isApplied = ({ latestMembers, leaveTime }: UnreadGroup, now: Instant): boolean =>
  (latestMembers[0] as Member).createTime <= now - appliedMs && leaveTime <= now - appliedMs;

/** The queries for the members of one group, and what they have found. */
class GroupQueries {
  readonly #queries: MemberQueries;
  readonly #group: UnreadGroup;
  readonly #name: MembersName;
  /** Whether queries may find members who have left, or names that they had. */
  readonly #hasLeavers: boolean;
  readonly #found: MemberRecord[] = [];

  constructor({ queries, ref, group, now }: LookedUpGroup) {
    this.#queries = queries;
    this.#group = group;
    this.#name = membersNameOf(ownerOfGroup(ref), group);
    this.#hasLeavers = group.leaveTime > now - appliedMs;
  }

  /**
   * The records that have to be unchanged. A member who has left or taken another name a moment
   * ago may have been found as before, because the transaction writes the reaction after the group.
   */
  get toValidate() {
    return this.#hasLeavers ? toValidate(this.#found) : [];
  }

  /** All members after `after`, earliest first. Undefined unless there are `count` of them. */
  async after(after: number, count: number): Promise<MemberRecord[] | undefined> {
    const read = await this.#queries.membersAfter(this.#name, after, count + 1);
    const found = withinEnd(read, this.#group);
    return found.length === count ? this.#noted(found) : undefined;
  }

  /** The members at both ends of the versions from `from` to `to`, which are included. */
  async ends(from: number, to: number): Promise<Ends> {
    const { first, latest } = await this.#queries.memberEnds(this.#name, from, to);
    return { first: this.#noted(first), latest: this.#noted(latest) };
  }

  /**
   * Splits the members up to `to`, of whom there are `total`. The shorter side is counted. If some
   * may have left, both are counted. Undefined unless they add up to `total`.
   */
  async split(at: number, to: number, total: number): Promise<Split | undefined> {
    const range = { from: this.#group.generation, at, to };
    const counted = this.#hasLeavers ? undefined : total;
    const found = await this.#queries.splitMembers(this.#name, range, counted);
    const { count, restCount, first, latest } = found;
    if (restCount !== undefined && count + restCount !== total) return undefined;
    this.#noted([...first, ...latest]);
    return { readCount: count, latestRead: latest, firstUnread: first };
  }

  #noted(members: MemberRecord[]): MemberRecord[] {
    this.#found.push(...members);
    return members;
  }
}

async function splitAll(members: GroupQueries, group: UnreadGroup, version: number) {
  const split = await members.split(version, versionOf(group), group.memberCount);
  return split && { ...split, lasts: false };
}

/** A split before the recent members. People who join later do not change the side that is read. */
async function splitOlder(members: GroupQueries, group: UnreadGroup, version: number) {
  const { after, count } = group.recent;
  const split = await members.split(version, after, group.memberCount - count);
  if (!split || split.firstUnread.length >= shownFirst) return split && { ...split, lasts: true };
  // Few of the older members are left after the version, so the first unread ones are recent.
  const recent = await members.after(after, count);
  return recent && { ...split, firstUnread: [...split.firstUnread, ...recent], lasts: false };
}

/** A split at a recent version, whose later members are all read, so that they are counted. */
async function splitRecent(members: GroupQueries, group: UnreadGroup, version: number) {
  const { after, count, middle, lateCount } = group.recent;
  const isLate = version >= middle;
  const found = isLate ? await members.after(middle, lateCount) : await members.after(after, count);
  if (!found) return undefined;
  const isRead = (member: MemberRecord) => member.version <= version;
  const firstUnread = found.filter((member) => !isRead(member));
  const readCount = group.memberCount - firstUnread.length;
  const split = { readCount, firstUnread, lasts: false };
  const latestRead = found.filter(isRead).reverse();
  const wanted = Math.min(shownLatest, readCount);
  if (latestRead.length >= wanted) return { ...split, latestRead };
  const recent = isLate ? await members.after(after, count) : found;
  if (!recent) return undefined;
  const recentRead = recent.filter(isRead).reverse();
  if (recentRead.length >= wanted) return { ...split, latestRead: recentRead };
  const { latest } = await members.ends(group.generation, after);
  return { ...split, latestRead: [...recentRead, ...latest] };
}

/** Whether a split has as many members as are shown of each of its sides. */
function isComplete({ readCount, latestRead, firstUnread }: Split, group: UnreadGroup): boolean {
  const unreadCount = group.memberCount - readCount;
  return (
    latestRead.length >= Math.min(shownLatest, Math.max(readCount, 1)) &&
    firstUnread.length >= Math.min(shownFirst, Math.max(unreadCount, 1))
  );
}

/** The recent members are read at the latest end, and where there are few older ones. */
async function readEnds(members: GroupQueries, { group, now }: LookedUpGroup, ends: WantedEnds) {
  const isReread = group.closed?.wasRead ?? false;
  // Without counts to compare with, a query has to find what every transaction has written.
  if (isReread && !isApplied(group, now)) return undefined;
  if (isReread || (isEventKind(group.kind) && isApplied(group, now))) {
    // The records of old events may be deleted, so that their number is not that of the group.
    const { first, latest } = await members.ends(group.generation, versionOf(group));
    return { ...(ends.first && { first }), ...(ends.latest && { latest }), lasts: false };
  }
  const { after, count } = group.recent;
  const olderCount = group.memberCount - count;
  const needsRecent = ends.latest || olderCount <= shownFirst;
  const needsOlder = olderCount > 0 && (ends.first || count <= shownLatest);
  const [recent, older] = await Promise.all([
    needsRecent ? members.after(after, count) : [],
    needsOlder ? members.ends(group.generation, after) : { first: [], latest: [] },
  ]);
  if (!recent) return undefined;
  const first = [...older.first, ...recent];
  const latest = [...recent.toReversed(), ...older.latest];
  return { ...(ends.first && { first }), ...(ends.latest && { latest }), lasts: !needsRecent };
}
