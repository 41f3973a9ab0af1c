/** Reads lists of reservations. */
import {
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { Window } from "../../../app/ports/pages.ts";
import { shardCount } from "../../../app/ports/points.ts";
import type { ReservationReader } from "../../../app/ports/reservations.ts";
import type { Reservation } from "../../../domain/reservation.ts";
import { executeKey, reservation, stateKey } from "../codecs/reservations.ts";
import { badCursor, pageAnswer, query } from "../sdk/query-pages.ts";
import { byStateIndex, byUserIndex } from "../tables.ts";

export function reservationReads(client: DynamoDBClient, TableName: string): ReservationReader {
  return {
    reservationsOfUser: ({ programId, userId }, window, page) =>
      query(client, page, reservation.decode, {
        TableName,
        IndexName: byUserIndex,
        ...inWindow("iu", `${programId}#${userId}`, window),
      }),

    async reservationsInState(programId, state, window, { size, cursor }) {
      if (cursor !== undefined && !isCursorIn(window, cursor)) throw badCursor();
      // The window of PENDING reservations starts now, which may be later than its end.
      if (isEmpty(window)) return { items: [] };
      const shards = await Promise.all(
        Array.from({ length: shardCount }, (_, shard) =>
          firstRowsOf(client, size, cursor, {
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

/** Whether a cursor is a range key of the index by state (execute time, id) before the end. */
const isCursorIn = ({ end }: Window, cursor: string): boolean =>
  /^\d{15}#[^#]+$/.test(cursor) && (end === undefined || cursor < executeKey(end));

const isEmpty = ({ start, end }: Window): boolean =>
  start !== undefined && end !== undefined && start >= end;

/**
 * The key condition for execute times in a window, and after the range key `after` if given. The
 * window may start later than `after`: that of PENDING reservations starts now.
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

/** The first rows of one shard: one more than a page, to find out whether a next page exists. */
async function firstRowsOf(
  client: DynamoDBClient,
  size: number,
  cursor: string | undefined,
  input: QueryCommandInput,
): Promise<{ sort: string; row: Reservation }[]> {
  const command = new QueryCommand({ ...input, Limit: size + 1 });
  const { Items: items = [] } = await pageAnswer(client.send(command), cursor);
  return items.map((item) => ({
    sort: item.ix?.S ?? "",
    row: reservation.decode(item),
  }));
}
