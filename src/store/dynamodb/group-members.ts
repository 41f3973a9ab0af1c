/** Reads the members of unread groups: the notified reactions of a range of versions. */
import {
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { CountedSplit, MemberReader } from "../../app/ports/notifications.ts";
import type { StoredKind } from "../../domain/kinds.ts";
import type { Reaction, TargetName } from "../../domain/target.ts";
import { shownFirst, shownLatest } from "../../domain/unread-group.ts";
import { reaction, reactionsKey } from "./codecs/reactions.ts";
import { type Item, N } from "./sdk/attributes.ts";
import { orUnavailable } from "./sdk/client.ts";
import { byVersionIndex } from "./tables.ts";

/** One more than is shown, because one of them may be the actor whose reaction is deleted. */
const firstWanted = shownFirst + 1;
const latestWanted = shownLatest + 1;

/** How many items the first page of a count reads. Each further page reads four times as many. */
const firstPage = 32;

/** Above every version of an inbox. */
const maxVersion = Number.MAX_SAFE_INTEGER;

/** A query for the notified reactions of one kind to a target, with versions in a range. */
export const notifiedIn = (target: TargetName, kind: StoredKind, from: number, to: number) => ({
  IndexName: byVersionIndex,
  ConsistentRead: true,
  KeyConditionExpression: "pk = :p AND n BETWEEN :from AND :to",
  FilterExpression: "attribute_not_exists(q)",
  ExpressionAttributeValues: {
    ":p": reactionsKey(target, kind),
    ":from": N(from),
    ":to": N(to),
  },
});

/** Makes the query for a range of versions of one group. */
type RangeQuery = (from: number, to: number) => QueryCommandInput;

/** Reads members by `client`, which sends each request once. */
export function memberReads(client: DynamoDBClient, TableName: string): MemberReader {
  const rangeQuery =
    ({ target, kind }: { readonly target: TargetName; readonly kind: StoredKind }): RangeQuery =>
    (from, to) => ({ TableName, ...notifiedIn(target, kind, from, to) });
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
  };
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
): Promise<Reaction[]> {
  const found: Item[] = [];
  let ExclusiveStartKey: Item | undefined;
  for (let Limit = wanted; ; Limit *= 4) {
    const page = new QueryCommand({ ...query, ScanIndexForward, Limit, ExclusiveStartKey });
    const { Items = [], LastEvaluatedKey } = await orUnavailable(client.send(page));
    found.push(...Items);
    if (!LastEvaluatedKey || found.length >= wanted) break;
    ExclusiveStartKey = LastEvaluatedKey;
  }
  return found.slice(0, wanted).map(activeReaction);
}

/** Decodes an item of the index, which has active reactions only. */
export const activeReaction = (item: Item): Reaction => reaction.decode(item) as Reaction;
