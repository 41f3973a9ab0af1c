/**
 * Lookups of both sides of a version that divides a group of events, with their people. As in
 * member-lookups.ts, a query may not see what a transaction of the last second has changed, so what
 * is that new is read whole and compared with the counts in the record of the group. Older records
 * may be deleted by their TTL: what is not there any more counts as read.
 */

import { appliedMs, type Lookup, type Reading } from "../../platform/ports/engine.ts";
import type { MemberRecord } from "../ports/notifications.ts";
import { ownerOfGroup } from "../ports/records.ts";
import { countsActor, type Event, type EventsName } from "../rules/event.ts";
import type { Split } from "../rules/notification.ts";
import {
  inOrder,
  type Member,
  shownFirst,
  shownLatest,
  type UnreadGroup,
  versionOf,
} from "../rules/unread-group.ts";
import type { EventCounts, MemberQueries } from "./group-members.ts";
import { isApplied, type LookedUpGroup, toValidate, withinEnd } from "./member-lookups.ts";

const noCounts: EventCounts = { count: 0, actorCount: 0, newActorCount: 0 };

/** Looks up both sides of a version that divides the events of a group. */
export function lookUpEventSplit(looked: LookedUpGroup, version: number): Lookup<EventSplit> {
  const { ref, group } = looked;
  const latest = versionOf(group);
  return {
    name: `${ref.id} ${group.generation} ${group.leaveCount} split ${version}`,
    source: ref,
    holds: (result) => result.latest === latest,
    async read() {
      const found = await readSplit(looked, version);
      return found && { ...found, result: { ...found.result, latest } };
    },
  };
}

/** A split, and the version of the group for which it was read. */
type EventSplit = Split & { readonly latest: number };

async function readSplit(
  { queries, ref, group, now }: LookedUpGroup,
  version: number,
): Promise<Reading<Split> | undefined> {
  const name = { ownerId: ownerOfGroup(ref), target: group.target, kind: group.kind };
  const hasLeavers = group.leaveTime > now - appliedMs;
  const applied = isApplied(group, now);
  // Later events are recent: they are read whole.
  const boundary = applied ? versionOf(group) : group.recent.after;
  // Links of older events may still be changed by the transaction that has retracted one.
  if (hasLeavers && version < boundary) return undefined;
  const [recent, older] = await Promise.all([
    applied ? [] : readRecent(queries, name, group),
    readOlder(queries, name, group, version, boundary),
  ]);
  if (!recent) return undefined;
  const seen = [...recent, ...older.first, ...older.latest];
  return {
    result: toSplit(group, version, recent, older),
    unchanged: hasLeavers ? toValidate(seen) : [],
  };
}

/** The recent events of a group. Undefined unless there are as many as the group counts. */
async function readRecent(
  queries: MemberQueries,
  name: EventsName,
  group: UnreadGroup,
): Promise<Event[] | undefined> {
  const { after, count } = group.recent;
  const found = withinEnd(await queries.membersAfter(name, after, count + 1), group);
  return found.length === count ? (found as Event[]) : undefined;
}

interface OlderEvents {
  readonly counts: EventCounts;
  /** The first ones after the version, and the latest ones up to it. */
  readonly first: readonly MemberRecord[];
  readonly latest: readonly MemberRecord[];
}

/** The members found on both sides of a version among the events up to the boundary. */
async function readOlder(
  queries: MemberQueries,
  name: EventsName,
  { generation }: UnreadGroup,
  version: number,
  boundary: number,
): Promise<OlderEvents> {
  const isDivided = version < boundary;
  const range = { generation, after: version, to: boundary };
  const last = Math.min(version, boundary);
  const [counts, first, { latest }] = await Promise.all([
    isDivided ? queries.countEvents(name, range) : noCounts,
    isDivided ? queries.membersAfter(name, version, shownFirst) : [],
    // DynamoDB refuses a range without versions: all events of a young group are recent.
    last < generation ? { latest: [] } : queries.memberEnds(name, generation, last),
  ]);
  return { counts, first: first.filter((event) => event.version <= boundary), latest };
}

function toSplit(
  group: UnreadGroup,
  version: number,
  recent: readonly Event[],
  { counts, first, latest }: OlderEvents,
): Split {
  const late = recent.filter((event) => event.version > version);
  const countFrom = (from: number) => late.filter((event) => countsActor(event, from)).length;
  const shown = [...group.firstMembers, ...group.latestMembers];
  const all = inOrder([...shown, ...recent, ...first, ...latest]);
  const firstUnread = all.filter((member) => member.version > version).slice(0, shownFirst);
  const latestRead = all.filter((member) => member.version <= version).toReversed();
  // Members that the group shows are there, even if their records are deleted.
  const unreadCount = Math.max(counts.count + late.length, firstUnread.length);
  const unreadActors = counts.actorCount + countFrom(version + 1);
  const readCount = group.memberCount - unreadCount;
  const readActors = group.actorCount - counts.newActorCount - countFrom(group.generation);
  return {
    readCount,
    firstUnread,
    latestRead: latestRead.slice(0, shownLatest),
    actors: {
      read: Math.min(readActors, readCount),
      unread: Math.max(unreadActors, countActors(firstUnread)),
    },
  };
}

const countActors = (members: readonly Member[]): number =>
  new Set(members.map(({ userId }) => userId)).size;
