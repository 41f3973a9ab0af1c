import { type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import type { MembersQuery } from "../../app/ports/engine.ts";
import { type Members, shownFirst, shownLatest } from "../../domain/notification.ts";
import type { Reaction, TargetName } from "../../domain/target.ts";
import { reaction, reactionsKey } from "./codecs/reactions.ts";
import { type Item, N } from "./sdk/attributes.ts";
import { orUnavailable } from "./sdk/client.ts";
import { byNumberIndex } from "./tables.ts";

/** One more than is shown, since one of them may be the one who leaves. */
const firstWanted = shownFirst + 1;
const latestWanted = shownLatest + 1;

/** Asks for the notified reactions of one kind to a target, with numbers in a range. */
export const notifiedIn = (target: TargetName, kind: string, from: number, to: number) => ({
  IndexName: byNumberIndex,
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

/** Reads the members of a group strongly consistently; each page of it at its own moment. */
export async function readMembers(
  client: DynamoDBClient,
  TableName: string,
  { target, kind, from, to, counted, whole }: MembersQuery,
): Promise<Members> {
  const query = { TableName, ...notifiedIn(target, kind, from, to) };
  if (whole !== undefined) {
    const all = await some(client, query, true, whole + 1);
    return { count: all.length, first: all, latest: all.toReversed() };
  }
  if (counted) return count(client, query);
  const [first, latest] = await Promise.all([
    some(client, query, true, firstWanted),
    some(client, query, false, latestWanted),
  ]);
  return { count: 0, first, latest };
}

/** The members at one end. Reads on, in growing pages, where few were notified. */
async function some(
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

/** All members, of whom it keeps those at the ends. */
async function count(client: DynamoDBClient, query: Query): Promise<Members> {
  let people = 0;
  const first: Item[] = [];
  let latest: Item[] = [];
  let ExclusiveStartKey: Item | undefined;
  do {
    const page = new QueryCommand({ ...query, ExclusiveStartKey });
    const { Items = [], LastEvaluatedKey } = await orUnavailable(client.send(page));
    people += Items.length;
    first.push(...Items.slice(0, firstWanted - first.length));
    latest = [...latest, ...Items.slice(-latestWanted)].slice(-latestWanted);
    ExclusiveStartKey = LastEvaluatedKey;
  } while (ExclusiveStartKey);
  return {
    count: people,
    first: first.map(reaction.decode),
    latest: latest.reverse().map(reaction.decode),
  };
}
