import {
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import {
  type AccountName,
  type Kind,
  type Reader,
  type Records,
  type Ref,
  shardCount,
  type Window,
} from "../../../app/ports/deps.ts";
import type { Reservation } from "../../../domain/reservation.ts";
import { nameOf } from "../../engine/item-store.ts";
import { codecOf, executeKey, expiryKey, type Item, stateKey } from "../codecs/index.ts";
import { createDynamoItemStore } from "../item-store.ts";
import { listEntries, listStoredEntries } from "../ledger-items.ts";
import type { Clients } from "../sdk/client.ts";
import { badCursor, pageAnswer, pageOf, query, startOf } from "../sdk/query-pages.ts";
import { byStateIndex, byUserIndex, expiryIndex, type TableName } from "../tables.ts";
import { reactionReads } from "./reactions.ts";

/** Reads of DynamoDB outside the engine. Cursors are the last key of a page, as JSON. */
export function createDynamoReader(clients: Clients, tableName: TableName): Reader {
  const { retrying } = clients;
  const items = createDynamoItemStore(retrying, tableName);
  const points = tableName("points");
  return {
    async get(ref) {
      const [loaded] = await items.read([ref]);
      if (loaded?.value === undefined) return undefined;
      return { value: loaded.value as Records[typeof ref.kind], version: loaded.version };
    },

    async many<K extends Kind>(refs: readonly Ref<K>[]) {
      const distinct = [...new Map(refs.map((ref) => [nameOf(ref), ref])).values()];
      const loaded = await items.read(distinct);
      const found = new Map(loaded.map(({ value }, i) => [nameOf(distinct[i] as Ref), value]));
      return refs.map((ref) => found.get(nameOf(ref)) as Records[K] | undefined);
    },

    programs: (page) =>
      query(retrying, page, codecOf("program").decode, {
        TableName: points,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": { S: "P" } },
      }),

    entries: (name, query, page) => listEntries(retrying, points, name, query, page),

    storedEntries: (name, page) => listStoredEntries(retrying, points, name, page),

    async entryCopies({ programId, userId }, { from, to }, segment, segments, page) {
      const answer = await pageAnswer(
        retrying.send(
          new ScanCommand({
            TableName: points,
            Segment: segment,
            TotalSegments: segments,
            Limit: page.size,
            FilterExpression: "sk = :k AND begins_with(pk, :p) AND n BETWEEN :from AND :to",
            ExpressionAttributeValues: {
              ":k": { S: "K" },
              ":p": { S: `K#${programId}#${userId}#` },
              ":from": { N: String(from) },
              ":to": { N: String(to) },
            },
            ...startOf(page.cursor),
          }),
        ),
        page.cursor,
      );
      const copies = (answer.Items ?? []).map((item) => codecOf("event").decode(item).entry);
      return pageOf(copies, answer.LastEvaluatedKey);
    },

    dueAccounts: (programId, shard, month, page) =>
      query(retrying, page, accountName, {
        TableName: points,
        IndexName: expiryIndex,
        KeyConditionExpression: "xp = :s AND xm <= :m",
        ExpressionAttributeValues: {
          ":s": { S: expiryKey(programId, shard) },
          ":m": { N: String(month) },
        },
      }),

    async accounts(programId, segment, segments, page) {
      const command = new ScanCommand({
        TableName: points,
        ConsistentRead: true,
        Segment: segment,
        TotalSegments: segments,
        Limit: page.size,
        FilterExpression: "sk = :k AND begins_with(pk, :p)",
        ProjectionExpression: "pk",
        ExpressionAttributeValues: { ":k": { S: "A" }, ":p": { S: `A#${programId}#` } },
        ...startOf(page.cursor),
      });
      const { Items = [], LastEvaluatedKey } = await pageAnswer(
        retrying.send(command),
        page.cursor,
      );
      return pageOf(Items.map(accountName), LastEvaluatedKey);
    },

    ...reservationReads(retrying, tableName("reservations")),
    ...reactionReads(clients, tableName),
  };
}

/** True for a range key of the index by state (execute time, id) ahead of the window's end. */
const isPlaceIn = ({ end }: Window, cursor: string): boolean =>
  /^\d{15}#[^#]+$/.test(cursor) && (end === undefined || cursor < executeKey(end));

const isEmpty = ({ start, end }: Window): boolean =>
  start !== undefined && end !== undefined && start >= end;

type ReservationReads = Pick<Reader, "reservationsOfUser" | "reservationsInState">;

function reservationReads(client: DynamoDBClient, TableName: string): ReservationReads {
  return {
    reservationsOfUser: ({ programId, userId }, window, page) =>
      query(client, page, codecOf("reservation").decode, {
        TableName,
        IndexName: byUserIndex,
        ...inWindow("iu", `${programId}#${userId}`, window),
      }),

    async reservationsInState(programId, state, window, { size, cursor }) {
      if (cursor !== undefined && !isPlaceIn(window, cursor)) throw badCursor();
      // The start of what is pending moves on with the time, and may have passed the end.
      if (isEmpty(window)) return { items: [] };
      const shards = await Promise.all(
        Array.from({ length: shardCount }, (_, shard) =>
          firstOf(client, size, cursor, {
            TableName,
            IndexName: byStateIndex,
            ...inWindow("is", stateKey(programId, state, shard), window, cursor),
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
  const [, programId, userId] = (item.pk?.S ?? "").split("#") as [string, string, string];
  return { programId, userId };
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

/** The first rows of one shard: one more than a page, which tells whether there are more. */
async function firstOf(
  client: DynamoDBClient,
  size: number,
  cursor: string | undefined,
  input: QueryCommandInput,
): Promise<{ sort: string; row: Reservation }[]> {
  const command = new QueryCommand({ ...input, Limit: size + 1 });
  const { Items: items = [] } = await pageAnswer(client.send(command), cursor);
  return items.map((item) => ({
    sort: item.ix?.S ?? "",
    row: codecOf("reservation").decode(item),
  }));
}
