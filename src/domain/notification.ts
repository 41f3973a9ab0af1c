import { DomainError } from "./errors.ts";
import type { Instant } from "./month.ts";
import type { Reaction, TargetName } from "./reaction.ts";

/**
 * The number line of one owner. Every change of a reaction to what they own, and every change of
 * what is unread, takes the next number: it is the version of the unread count.
 */
export interface Inbox {
  readonly n: number;
  /** How many unread groups there are. */
  readonly groups: number;
  /** The distinct actors of each unread group, summed over the groups. */
  readonly people: number;
}

export const emptyInbox: Inbox = { n: 0, groups: 0, people: 0 };

/** Who reacts. The name is for display alone. */
export interface Actor {
  readonly user: string;
  readonly name: string;
}

/**
 * All unread reactions of one kind to one target. Its members are the notified reactions that have
 * joined at `from` or later.
 */
export interface Group {
  readonly kind: string;
  readonly target: TargetName;
  readonly from: number;
  /** The number at which the latest one joined, whether or not they have left again. */
  readonly last: number;
  /** How many members it has. */
  readonly people: number;
  /** The two earliest members, earliest first. */
  readonly first: readonly Actor[];
  /** The three latest members, latest first; those of a small group are in both. */
  readonly latest: readonly Actor[];
  readonly createTime: Instant;
  readonly updateTime: Instant;
}

/** A group as it was when it was read. */
export interface ReadGroup extends Group {
  readonly readTime: Instant;
  /** From then on it is gone for readers. */
  readonly expireTime: Instant;
}

/** Members of a group with numbers from `from` to `to`, both included. */
export interface MemberRange {
  readonly from: number;
  readonly to: number;
  /** Whether all of them are to be counted, which costs as much as they are many. */
  readonly counted: boolean;
  /** How many there are, when it is a whole group of up to `maxWhole`: all of them are returned. */
  readonly whole?: number;
}

/** A group of up to this many members is read whole: their rows fit into one atomic read. */
export const maxWhole = 90;

/** What the reactions themselves tell of a range: one member more than is shown at each end. */
export interface Members {
  /** How many there are; 0 unless they were to be counted. */
  readonly people: number;
  readonly first: readonly Reaction[];
  readonly latest: readonly Reaction[];
}

export type MembersOf = (range: MemberRange) => Members;

/** How many members are named at each end of a group. */
export const shownFirst = 2;
export const shownLatest = 3;

/** Beyond every number of an inbox. */
const end = Number.MAX_SAFE_INTEGER;

/**
 * The members of a group in a range. A query is no snapshot, but a whole group is known to be read
 * right, since the number of its members is known (docs/decisions/0014). A larger group may be read
 * while a row of the latest transactions is not applied yet.
 */
function membersIn(group: Group, membersOf: MembersOf, range: MemberRange): Members {
  if (group.people > maxWhole) return membersOf(range);
  const { first } = membersOf({ from: group.from, to: end, counted: true, whole: group.people });
  const rows = first.filter(({ n }) => n >= range.from && n <= range.to);
  return { people: rows.length, first: rows, latest: rows.toReversed() };
}

/** The group with one member more, who comes after all others. */
export function join(group: Group | undefined, { target, kind, ...row }: Reaction): Group {
  const actor = { user: row.user, name: row.name };
  const { n: last, time: updateTime } = row;
  if (!group) {
    const times = { createTime: updateTime, updateTime };
    const shown = { first: [actor], latest: [actor] };
    return { kind, target, from: last, last, people: 1, ...shown, ...times };
  }
  const { people, first, latest } = group;
  return {
    ...group,
    last,
    people: people + 1,
    first: first.length < shownFirst ? [...first, actor] : first,
    latest: [actor, ...latest].slice(0, shownLatest),
    updateTime,
  };
}

/** The group without this member; none without the last one. A name that was shown is refilled. */
export function leave(group: Group, user: string, membersOf: MembersOf): Group | undefined {
  const people = group.people - 1;
  if (people === 0) return undefined;
  const { first, latest } = group;
  const isOther = (actor: Actor) => actor.user !== user;
  if (first.every(isOther) && latest.every(isOther)) return { ...group, people };
  if (people < shownFirst + shownLatest) {
    // In a group of this size everybody is shown.
    const early = new Set(first.map((actor) => actor.user));
    const all = [...first, ...latest.toReversed().filter((actor) => !early.has(actor.user))];
    const others = all.filter(isOther);
    return { ...group, people, ...shown(others, others.toReversed()) };
  }
  const members = membersIn(group, membersOf, { from: group.from, to: end, counted: false });
  const others = { first: members.first.filter(isOther), latest: members.latest.filter(isOther) };
  return { ...group, people, ...shown(others.first, others.latest) };
}

/** What of an owner a read mark touches. */
export interface ReadScene {
  readonly inbox: Inbox;
  readonly group: Group | undefined;
  /** What was unread and is no longer. */
  readonly read: ReadGroup | undefined;
}

/**
 * Marks as read what a reader of version `version` has seen of a group: all of it, or those who had
 * joined by then, while the others become the new unread group. Nothing happens when none of those
 * seen is still unread. Refusal: INVALID_REQUEST for a version that is yet to come.
 */
export function markRead(
  { inbox, group }: Omit<ReadScene, "read">,
  version: number,
  { now, keptMs }: { readonly now: Instant; readonly keptMs: number },
  membersOf: MembersOf,
): ReadScene {
  checkVersion(inbox, version);
  const unchanged = { inbox, group, read: undefined };
  if (!group || version < group.from) return unchanged;
  const n = inbox.n + 1;
  const times = { readTime: now, expireTime: now + keptMs };
  const after =
    version < group.last
      ? membersIn(group, membersOf, { from: version + 1, to: end, counted: true })
      : { people: 0, first: [], latest: [] };
  const people = group.people - after.people;
  if (people === 0) return unchanged;
  if (after.people === 0) {
    const groups = inbox.groups - 1;
    const left = { n, groups, people: inbox.people - people };
    return { inbox: left, group: undefined, read: { ...group, ...times } };
  }
  const before = membersIn(group, membersOf, { from: group.from, to: version, counted: false });
  const [latest] = before.latest;
  if (!latest) throw new DomainError("CONTENDED", "reactions of the group are being written");
  const { n: last, time: updateTime } = latest;
  const seen = { ...group, last, people, ...shown(before.first, before.latest), updateTime };
  const unread: Group = {
    ...group,
    from: version + 1,
    people: after.people,
    ...shown(after.first, after.latest),
    createTime: (after.first[0] as Reaction).time,
  };
  const left = { ...inbox, n, people: inbox.people - people };
  return { inbox: left, group: unread, read: { ...seen, ...times } };
}

/** Refusal: INVALID_REQUEST for a version that the inbox has not reached. */
export function checkVersion({ n }: Inbox, version: number): void {
  if (version <= n) return;
  throw new DomainError("INVALID_REQUEST", `version is beyond that of the unread count, ${n}`, {
    field: "version",
  });
}

/** The inbox without an unread group, which nobody has read. */
export const removed = ({ n, groups, people }: Inbox, group: Group): Inbox => ({
  n: n + 1,
  groups: groups - 1,
  people: people - group.people,
});

/**
 * Who a notification names, for a text in any language: one or two names, or the first one and how
 * many others.
 */
export function textOf({ people, first }: Group): { names: string[]; others: number } {
  const names = first.map(({ name }) => name);
  return people > 2 ? { names: names.slice(0, 1), others: people - 1 } : { names, others: 0 };
}

const shown = (first: readonly Actor[], latest: readonly Actor[]) => ({
  first: first.slice(0, shownFirst).map(nameOnly),
  latest: latest.slice(0, shownLatest).map(nameOnly),
});

const nameOnly = ({ user, name }: Actor): Actor => ({ user, name });
