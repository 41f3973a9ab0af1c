/** Reads the members of groups: the notified reactions, or the events, of a range of versions. */
import {
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
} from "@aws-sdk/client-dynamodb";
import { type Item, N, num } from "../../platform/dynamodb/sdk/attributes.ts";
import { orUnavailable } from "../../platform/dynamodb/sdk/client.ts";
import { byVersionIndex } from "../../platform/dynamodb/tables.ts";
import type { MemberRecord, MembersName } from "../ports/notifications.ts";
import type { EventsName } from "../rules/event.ts";
import type { Reaction } from "../rules/target.ts";
import { shownFirst, shownLatest } from "../rules/unread-group.ts";
import { eventsKey, isEventItem, notificationEvent } from "./codecs/events.ts";
import { reaction, reactionsKey } from "./codecs/reactions.ts";

/** Counts of events after a version. */
export interface EventCounts {
  readonly count: number;
  /** The events that are their actors' first ones after the version: the number of people. */
  readonly actorCount: number;
  /** The events that are their actors' first ones in the whole group. */
  readonly newActorCount: number;
}

/** The members at the ends of a range, at each end one more than a group shows. */
interface RangeEnds {
  /** The first three, earliest first. */
  readonly first: MemberRecord[];
  /** The latest four, latest first. */
  readonly latest: MemberRecord[];
}

/** The members on both sides of a version: `first` follow it, `latest` go up to it. */
export interface CountedSplit extends RangeEnds {
  /** The number of members up to the version. */
  readonly count: number;
  /** The number of members after it, if both sides were counted. */
  readonly restCount?: number | undefined;
}

/** Queries for members, strongly consistent, each end and each page at its own moment. */
export interface MemberQueries {
  /** The members after a version, earliest first, at most `limit`. */
  membersAfter(name: MembersName, after: number, limit: number): Promise<MemberRecord[]>;
  /** The members at both ends of a range of versions, both included. */
  memberEnds(name: MembersName, from: number, to: number): Promise<RangeEnds>;
  /**
   * Splits the members with versions from `from` to `to` at `at`, all included. If `total` is the
   * number of members in the range, only the shorter side is counted; otherwise both are.
   */
  splitMembers(
    name: MembersName,
    range: { readonly from: number; readonly at: number; readonly to: number },
    total: number | undefined,
  ): Promise<CountedSplit>;
  /** Counts the events after `after`, up to `to`, in a group that began at `generation`. */
  countEvents(
    name: EventsName,
    range: { readonly generation: number; readonly after: number; readonly to: number },
  ): Promise<EventCounts>;
}

/** One more than is shown, because one of them may be the actor whose reaction is deleted. */
const firstWanted = shownFirst + 1;
const latestWanted = shownLatest + 1;

/** How many items the first page of a count reads. Each further page reads four times as many. */
const firstPage = 32;

/** Above every version of an inbox. */
const maxVersion = Number.MAX_SAFE_INTEGER;

/** A query for the members of one name, with versions in a range. */
export function membersIn(name: MembersName, from: number, to: number) {
  const isEvents = "ownerId" in name;
  return {
    IndexName: byVersionIndex,
    ConsistentRead: true,
    KeyConditionExpression: "pk = :p AND n BETWEEN :from AND :to",
    // Every event that is stored has notified its owner.
    ...(!isEvents && { FilterExpression: "attribute_not_exists(q)" }),
    ExpressionAttributeValues: {
      ":p": isEvents ? eventsKey(name) : reactionsKey(name.target, name.kind),
      ":from": N(from),
      ":to": N(to),
    },
  };
}

/** Makes the query for a range of versions of one group. */
type RangeQuery = (from: number, to: number) => QueryCommandInput;

/** Queries by `client`, which sends each request once. */
export function memberQueries(client: DynamoDBClient, TableName: string): MemberQueries {
  const rangeQuery =
    (name: MembersName): RangeQuery =>
    (from, to) => ({ TableName, ...membersIn(name, from, to) });
  const first = (query: QueryCommandInput) => membersAtEnd(client, query, true, firstWanted);
  const latest = (query: QueryCommandInput) => membersAtEnd(client, query, false, latestWanted);
  return {
    membersAfter: (name, after, limit) =>
      membersAtEnd(client, rangeQuery(name)(after + 1, maxVersion), true, limit),

    async memberEnds(name, from, to) {
      const query = rangeQuery(name)(from, to);
      const ends = await Promise.all([first(query), latest(query)]);
      return { first: ends[0], latest: ends[1] };
    },

    async splitMembers(name, { from, at, to }, total) {
      const query = rangeQuery(name);
      const sides = { before: query(from, at), after: query(at + 1, to) };
      const [counts, after, before] = await Promise.all([
        countSides(client, sides, total),
        first(sides.after),
        latest(sides.before),
      ]);
      return { ...counts, first: after, latest: before };
    },

    countEvents: (name, { generation, after, to }) =>
      countEvents(client, rangeQuery(name)(after + 1, to), after, generation),
  };
}

/** Counts events, and the people whose first one after a version, or in the group, is counted. */
async function countEvents(
  client: DynamoDBClient,
  query: QueryCommandInput,
  after: number,
  generation: number,
): Promise<EventCounts> {
  const counts = { count: 0, actorCount: 0, newActorCount: 0 };
  let ExclusiveStartKey: Item | undefined;
  do {
    const page = { ...query, ProjectionExpression: "p", ExclusiveStartKey };
    const { Items = [], LastEvaluatedKey } = await orUnavailable(
      client.send(new QueryCommand(page)),
    );
    for (const item of Items) {
      const previousVersion = num(item, "p");
      counts.count += 1;
      if (previousVersion <= after) counts.actorCount += 1;
      if (previousVersion < generation) counts.newActorCount += 1;
    }
    ExclusiveStartKey = LastEvaluatedKey;
  } while (ExclusiveStartKey);
  return counts;
}

/**
 * Counts the members on both sides of a split side by side. Given their `total`, it counts page by
 * page until one side ends, so that the cost follows the shorter one, whichever it is.
 */
async function countSides(
  client: DynamoDBClient,
  sides: { readonly before: QueryCommandInput; readonly after: QueryCommandInput },
  total: number | undefined,
): Promise<Pick<CountedSplit, "count" | "restCount">> {
  const before = countMembers(client, sides.before);
  const after = countMembers(client, sides.after);
  if (total === undefined) {
    const [count, restCount] = await Promise.all([lastOf(before), lastOf(after)]);
    return { count, restCount };
  }
  for (;;) {
    const [upToAt, beyond] = await Promise.all([before.next(), after.next()]);
    if (upToAt.done) return { count: upToAt.value };
    if (beyond.done) return { count: total - beyond.value };
  }
}

/** Runs a generator to its end and returns its result. */
async function lastOf<T>(generator: AsyncGenerator<undefined, T>): Promise<T> {
  for (;;) {
    const step = await generator.next();
    if (step.done) return step.value;
  }
}

/** Counts all members in a range, in pages that become larger. Yields after each page. */
async function* countMembers(
  client: DynamoDBClient,
  query: QueryCommandInput,
): AsyncGenerator<undefined, number> {
  let count = 0;
  let ExclusiveStartKey: Item | undefined;
  for (let Limit = firstPage; ; Limit *= 4) {
    const page = new QueryCommand({ ...query, Select: "COUNT", Limit, ExclusiveStartKey });
    const { Count = 0, LastEvaluatedKey } = await orUnavailable(client.send(page));
    count += Count;
    if (!LastEvaluatedKey) return count;
    ExclusiveStartKey = LastEvaluatedKey;
    yield;
  }
}

/**
 * The first or the latest members. The filter drops reactions that were not notified, so it reads
 * further pages, each four times as large, until it has enough.
 */
async function membersAtEnd(
  client: DynamoDBClient,
  query: QueryCommandInput,
  ScanIndexForward: boolean,
  wanted: number,
): Promise<MemberRecord[]> {
  const found: Item[] = [];
  let ExclusiveStartKey: Item | undefined;
  for (let Limit = wanted; ; Limit *= 4) {
    const page = new QueryCommand({ ...query, ScanIndexForward, Limit, ExclusiveStartKey });
    const { Items = [], LastEvaluatedKey } = await orUnavailable(client.send(page));
    found.push(...Items);
    if (!LastEvaluatedKey || found.length >= wanted) break;
    ExclusiveStartKey = LastEvaluatedKey;
  }
  return found.slice(0, wanted).map(decodeMember);
}

const decodeMember = (item: Item): MemberRecord =>
  isEventItem(item) ? notificationEvent.decode(item) : activeReaction(item);

/** Decodes an item of the index, which has active reactions and events only. */
export const activeReaction = (item: Item): Reaction => reaction.decode(item) as Reaction;
