import {
  type AttributeValue,
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import {
  type AccountName,
  type Page,
  type PageRequest,
  type Reader,
  type Records,
  shardCount,
  type Window,
} from "../../app/ports.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { Items } from "../items.ts";
import { type Clients, orUnavailable } from "./client.ts";
import { codecOf, executeKey, expiryKey, type Item, stateKey } from "./codecs.ts";
import { byStateIndex, byUserIndex, expiryIndex, type TableName } from "./tables.ts";

/** Reads of DynamoDB outside the engine. Cursors are the last key of a page, as JSON. */
export function createDynamoReader(
  { retrying }: Clients,
  items: Items,
  tableName: TableName,
): Reader {
  const points = tableName("points");
  const reservations = tableName("reservations");
  return {
    async get(ref) {
      const [loaded] = await items.read([ref]);
      if (loaded?.value === undefined) return undefined;
      return { value: loaded.value as Records[typeof ref.kind], version: loaded.version };
    },

    programs: (page) =>
      query(retrying, page, codecOf("program").decode, {
        TableName: points,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": { S: "P" } },
      }),

    entries: ({ program, user }, { from, to, newestFirst, types }, page) =>
      query(retrying, page, codecOf("entry").decode, {
        TableName: points,
        ConsistentRead: true,
        ScanIndexForward: !newestFirst,
        KeyConditionExpression: "pk = :a AND sk BETWEEN :from AND :to",
        ExpressionAttributeValues: {
          ":a": { S: `A#${program}#${user}` },
          ":from": codecOf("entry").key(`#${from}`).sk as AttributeValue,
          ":to": codecOf("entry").key(`#${to}`).sk as AttributeValue,
          ...Object.fromEntries(types.map((type, i) => [`:y${i}`, { S: type }])),
        },
        ...(types.length > 0 && {
          FilterExpression: `y IN (${types.map((_, i) => `:y${i}`).join(", ")})`,
        }),
      }),

    dueAccounts: (program, shard, month, page) =>
      query(retrying, page, accountName, {
        TableName: points,
        IndexName: expiryIndex,
        KeyConditionExpression: "xp = :s AND xm <= :m",
        ExpressionAttributeValues: {
          ":s": { S: expiryKey(program, shard) },
          ":m": { N: String(month) },
        },
      }),

    async accounts(program, segment, segments, page) {
      const answer = await orUnavailable(
        retrying.send(
          new ScanCommand({
            TableName: points,
            ConsistentRead: true,
            Segment: segment,
            TotalSegments: segments,
            Limit: page.size,
            FilterExpression: "sk = :k AND begins_with(pk, :p)",
            ProjectionExpression: "pk",
            ExpressionAttributeValues: { ":k": { S: "A" }, ":p": { S: `A#${program}#` } },
            ...startOf(page.cursor),
          }),
        ),
      );
      return pageOf((answer.Items ?? []).map(accountName), answer.LastEvaluatedKey);
    },

    reservationsOfUser: ({ program, user }, window, page) =>
      query(retrying, page, codecOf("reservation").decode, {
        TableName: reservations,
        IndexName: byUserIndex,
        ...inWindow("iu", `${program}#${user}`, window),
      }),

    async reservationsInState(program, state, window, { size, cursor }) {
      const shards = await Promise.all(
        Array.from({ length: shardCount }, (_, shard) =>
          firstOf(retrying, size, cursor, {
            TableName: reservations,
            IndexName: byStateIndex,
            ...inWindow("is", stateKey(program, state, shard), window, cursor),
          }),
        ),
      );
      const merged = shards.flat().sort((a, b) => (a.sort < b.sort ? -1 : 1));
      const found = merged.slice(0, size);
      const last = found.at(-1)?.sort;
      return {
        items: found.map(({ row }) => row),
        ...(merged.length > size && last !== undefined && { cursor: last }),
      };
    },
  };
}

function accountName(item: Item): AccountName {
  const [, program, user] = (item.pk?.S ?? "").split("#") as [string, string, string];
  return { program, user };
}

/**
 * The key condition for execute times in a window, and after the range key `after` if given: the
 * start of a list of what is pending moves on with the time, even past it.
 */
function inWindow(hash: string, key: string, { start, end }: Window, after?: string) {
  const first = executeKey(start ?? 0);
  const from = after !== undefined && after > first ? `${after} ` : first;
  const to = end === undefined ? "~" : executeKey(end);
  return {
    KeyConditionExpression: "#h = :h AND ix BETWEEN :from AND :to",
    ExpressionAttributeNames: { "#h": hash },
    ExpressionAttributeValues: { ":h": { S: key }, ":from": { S: from }, ":to": { S: to } },
  };
}

/** One page of a query: as many matches as asked for, or fewer where a filter left some out. */
async function query<T>(
  client: DynamoDBClient,
  { size, cursor }: PageRequest,
  decode: (item: Item) => T,
  input: QueryCommandInput,
): Promise<Page<T>> {
  const command = new QueryCommand({ ...input, Limit: size, ...startOf(cursor) });
  const { Items: items = [], LastEvaluatedKey } = await ask(client, command, cursor);
  return pageOf(items.map(decode), LastEvaluatedKey);
}

/** The first rows of one shard: one more than a page, which tells whether there are more. */
async function firstOf(
  client: DynamoDBClient,
  size: number,
  cursor: string | undefined,
  input: QueryCommandInput,
): Promise<{ sort: string; row: Reservation }[]> {
  const command = new QueryCommand({ ...input, Limit: size + 1 });
  const { Items: items = [] } = await ask(client, command, cursor);
  return items.map((item) => ({
    sort: item.ix?.S ?? "",
    row: codecOf("reservation").decode(item),
  }));
}

/** A cursor comes from outside: one that does not fit the query is the caller's mistake. */
async function ask(client: DynamoDBClient, command: QueryCommand, cursor: string | undefined) {
  try {
    return await orUnavailable(client.send(command));
  } catch (error) {
    const { name } = error as Error;
    throw cursor !== undefined && name === "ValidationException" ? badCursor() : error;
  }
}

const badCursor = () =>
  new DomainError("INVALID_REQUEST", "page_token does not belong to this list", {
    field: "page_token",
  });

function startOf(cursor: string | undefined): { ExclusiveStartKey?: Item } {
  if (cursor === undefined) return {};
  try {
    return { ExclusiveStartKey: JSON.parse(cursor) as Item };
  } catch {
    throw badCursor();
  }
}

const pageOf = <T>(items: T[], last: Item | undefined): Page<T> =>
  last ? { items, cursor: JSON.stringify(last) } : { items };
