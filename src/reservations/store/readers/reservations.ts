/** Reads lists of reservations. */

import {
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
} from "@aws-sdk/client-dynamodb";
import { S, text } from "../../../platform/dynamodb/sdk/attributes.ts";
import {
  cursorOf,
  pageAnswer,
  query,
  startOf,
} from "../../../platform/dynamodb/sdk/query-pages.ts";
import { byStateIndex, byUserIndex, type TableName } from "../../../platform/dynamodb/tables.ts";
import { inTimeWindow, timeKey } from "../../../platform/dynamodb/time-keys.ts";
import { badCursor, type Page, type Window } from "../../../platform/ports/pages.ts";
import type { AccountName } from "../../../points/ports/points.ts";
import {
  leastReservationShards,
  reservationShardsOf,
  type ShardedProgram,
} from "../../../points/rules/program.ts";
import type { ReservationFilter, ReservationReader } from "../../ports/reservations.ts";
import type { OpenState, Reservation, ReservationState } from "../../rules/reservation.ts";
import { reservation, stateKey, userKey } from "../codecs/reservations.ts";

export function reservationReads(client: DynamoDBClient, tableName: TableName): ReservationReader {
  const reservations = tableName("reservations");
  return {
    async reservationsOfUser(name, filter, { size, cursor }) {
      const after = cursor === undefined ? undefined : placeInList(name, filter, cursor);
      const states = await Promise.all(
        reservationStates.map((state) =>
          firstRecordsOf(client, cursor, {
            TableName: reservations,
            IndexName: byUserIndex,
            Limit: size,
            ...matching("iu", userKey(name, state), filter, after),
          }),
        ),
      );
      const { items, cursor: last } = merged(states, size);
      return { items, cursor: last === undefined ? undefined : cursorInList(name, last) };
    },

    reservationsOfUserInState: (name, state, window, page) =>
      query(client, page, reservation.decode, {
        TableName: reservations,
        IndexName: byUserIndex,
        ...matching("iu", userKey(name, state), window),
      }),

    async reservationsInState(program, state, filter, { size, cursor }) {
      if (cursor !== undefined && !isCursorIn(filter, cursor)) throw badCursor();
      // The window of PENDING reservations starts now, which may be later than its end.
      if (isEmpty(filter)) return { items: [] };
      const keys = keysOf(program, state);
      // All shards together read as much for a page as the least number of them. One more each, to
      // find out whether a next page exists.
      const limit = Math.ceil((size * leastReservationShards) / keys.length) + 1;
      const shards = await Promise.all(
        keys.map((key) =>
          firstRecordsOf(client, cursor, {
            TableName: reservations,
            IndexName: byStateIndex,
            Limit: limit,
            ...matching("is", key, filter, cursor),
          }),
        ),
      );
      return merged(shards, size);
    },

    pendingInShard: (programId, shard, window, page) =>
      query(client, page, reservation.decode, {
        TableName: reservations,
        IndexName: byStateIndex,
        ...matching("is", stateKey({ programId, state: "PENDING" }, shard), window),
      }),
  };
}

const reservationStates: readonly ReservationState[] = ["PENDING", "DONE", "FAILED", "CANCELLED"];

/** The hash keys of a state in the index by state. */
const keysOf = (program: ShardedProgram, state: OpenState) =>
  Array.from({ length: reservationShardsOf(program) }, (_, shard) =>
    stateKey({ programId: program.programId, state }, shard),
  );

/**
 * The first records of all shards. A shard that is not read to its end is complete up to the record
 * where its read stopped, so the page ends at the earliest of these places.
 */
function merged(shards: readonly ShardRecords[], size: number): Page<Reservation> {
  const stops = shards.flatMap(({ stop }) => stop ?? []).sort();
  const [complete] = stops;
  const records = shards
    .flatMap((shard) => shard.records)
    .filter(({ sort }) => complete === undefined || sort <= complete)
    .sort((a, b) => (a.sort < b.sort ? -1 : 1))
    // While the index lags behind, a record may be found under its old key and its new one.
    .filter(({ sort }, i, all) => sort !== all[i - 1]?.sort);
  const found = records.slice(0, size);
  const cursor = records.length > size ? found.at(-1)?.sort : complete;
  return { items: found.map(({ record }) => record), cursor };
}

/**
 * The cursor behind a record in the list of a user, which merges the keys of all states: it has the
 * key of a pending record, whatever the state.
 */
function cursorInList(name: AccountName, sort: string): string {
  const id = sort.slice(sort.indexOf("#") + 1);
  const pk = S(`${name.programId}#${id}`);
  return cursorOf({ pk, iu: S(userKey(name, "PENDING")), ix: S(sort) });
}

/** The range key of a cursor. Throws INVALID_REQUEST if it is of another list. */
function placeInList(name: AccountName, window: Window, cursor: string): string {
  const { iu, ix } = startOf(cursor).ExclusiveStartKey ?? {};
  const sort = ix?.S ?? "";
  if (iu?.S !== userKey(name, "PENDING") || !isCursorIn(window, sort)) throw badCursor();
  return sort;
}

/** Whether a cursor is a range key of the index by state (execute time, id) before the end. */
const isCursorIn = ({ end }: Window, cursor: string): boolean =>
  /^\d{15}#[^#]+$/.test(cursor) && (end === undefined || cursor < timeKey(end));

const isEmpty = ({ start, end }: Window): boolean =>
  start !== undefined && end !== undefined && start >= end;

/** The condition for reservations in a window, and after the range key `after` if given. */
function matching(
  hash: string,
  key: string,
  { start, end, reasonPrefix = "" }: ReservationFilter,
  after?: string,
) {
  const inWindow = inTimeWindow(hash, key, { start, end }, after);
  if (reasonPrefix === "") return inWindow;
  const values = { ...inWindow.ExpressionAttributeValues, ":r": S(reasonPrefix) };
  const FilterExpression = "begins_with(r, :r)";
  return { ...inWindow, FilterExpression, ExpressionAttributeValues: values };
}

/** The first records of one shard or state, with their range keys. */
interface ShardRecords {
  readonly records: readonly { readonly sort: string; readonly record: Reservation }[];
  /** The range key of the last record that was read. Absent when the shard has no further ones. */
  readonly stop: string | undefined;
}

async function firstRecordsOf(
  client: DynamoDBClient,
  cursor: string | undefined,
  input: QueryCommandInput,
): Promise<ShardRecords> {
  const sent = client.send(new QueryCommand(input));
  const { Items = [], LastEvaluatedKey } = await pageAnswer(sent, cursor);
  const records = Items.map((item) => ({
    sort: text(item, "ix"),
    record: reservation.decode(item),
  }));
  return { records, stop: LastEvaluatedKey && text(LastEvaluatedKey, "ix") };
}
