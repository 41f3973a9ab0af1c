/** Reads the members of an unread group: the notified reactions of a range of versions. */
import { type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import type { MembersQuery } from "../../app/ports/engine.ts";
import { type Members, shownFirst, shownLatest } from "../../domain/notification.ts";
import type { Reaction, TargetName } from "../../domain/target.ts";
import { reaction, reactionsKey } from "./codecs/reactions.ts";
import { type Item, N } from "./sdk/attributes.ts";
import { orUnavailable } from "./sdk/client.ts";
import { byVersionIndex } from "./tables.ts";

/** One more than is shown, because one of them may be the actor whose reaction is deleted. */
const firstWanted = shownFirst + 1;
const latestWanted = shownLatest + 1;

/** A query for the notified reactions of one kind to a target, with versions in a range. */
export const notifiedIn = (target: TargetName, kind: string, from: number, to: number) => ({
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

type Query = ReturnType<typeof notifiedIn> & { readonly TableName: string };

/** Reads the members of a group strongly consistently, each page at its own moment. */
export async function readMembers(
  client: DynamoDBClient,
  TableName: string,
  { target, kind, from, to, counted, whole }: MembersQuery,
): Promise<Members> {
  const query = { TableName, ...notifiedIn(target, kind, from, to) };
  if (whole !== undefined) {
    const all = await membersAtEnd(client, query, true, whole + 1);
    return { count: all.length, first: all, latest: all.toReversed() };
  }
  if (counted) return countMembers(client, query);
  const [first, latest] = await Promise.all([
    membersAtEnd(client, query, true, firstWanted),
    membersAtEnd(client, query, false, latestWanted),
  ]);
  return { count: 0, first, latest };
}

/**
 * The first or the latest members. The filter drops reactions that were not notified, so it reads
 * further pages, each four times as large, until it has enough.
 */
async function membersAtEnd(
  client: DynamoDBClient,
  query: Query,
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
  return found.slice(0, wanted).map(reaction.decode);
}

/** Counts all members, and keeps the first and the latest ones. */
async function countMembers(client: DynamoDBClient, query: Query): Promise<Members> {
  let count = 0;
  const first: Item[] = [];
  let latest: Item[] = [];
  let ExclusiveStartKey: Item | undefined;
  do {
    const page = new QueryCommand({ ...query, ExclusiveStartKey });
    const { Items = [], LastEvaluatedKey } = await orUnavailable(client.send(page));
    count += Items.length;
    first.push(...Items.slice(0, firstWanted - first.length));
    latest = [...latest, ...Items.slice(-latestWanted)].slice(-latestWanted);
    ExclusiveStartKey = LastEvaluatedKey;
  } while (ExclusiveStartKey);
  return {
    count,
    first: first.map(reaction.decode),
    latest: latest.reverse().map(reaction.decode),
  };
}
