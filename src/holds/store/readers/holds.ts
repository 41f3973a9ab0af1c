/** Reads lists of holds. */
import type { AttributeValue, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { cursorOf, query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { byStateIndex, byUserIndex, type TableName } from "../../../platform/dynamodb/tables.ts";
import { inTimeWindow } from "../../../platform/dynamodb/time-keys.ts";
import { allPages, type PageRequest } from "../../../platform/ports/pages.ts";
import { eventRef } from "../../../points/ports/records.ts";
import { type EventKey, eventName } from "../../../points/rules/ledger.ts";
import { event } from "../../../points/store/codecs/points.ts";
import type { HoldReader } from "../../ports/holds.ts";
import { holdRef } from "../../ports/records.ts";
import { holdEvent, maxCaptures } from "../../rules/hold.ts";
import { heldKey, hold, holdsOfUserKey, untilKey } from "../codecs/holds.ts";

export function holdReads(client: DynamoDBClient, tableName: TableName): HoldReader {
  const TableName = tableName("reservations");
  return {
    async capturesOf({ programId, userId, holdId }) {
      const { id } = eventRef(programId, userId, eventName(holdEvent(holdId)));
      const read = (page: PageRequest) =>
        query(client, page, event.decode, {
          TableName: tableName("points"),
          ConsistentRead: true,
          KeyConditionExpression: "pk = :k",
          ExpressionAttributeValues: { ":k": event.key(id).pk as AttributeValue },
        });
      const found: EventKey[] = [];
      for await (const keys of allPages(maxCaptures, read)) found.push(...keys);
      return found;
    },

    holdsOfUser: (name, page) =>
      query(client, page, hold.decode, {
        TableName,
        IndexName: byUserIndex,
        ScanIndexForward: false,
        KeyConditionExpression: "iu = :h",
        ExpressionAttributeValues: { ":h": S(holdsOfUserKey(name)) },
      }),

    cursorOfHoldsAfter(found) {
      const key = hold.key(holdRef(found).id);
      return cursorOf({ ...key, iu: S(holdsOfUserKey(found)), ix: S(untilKey(found)) });
    },

    heldInShard: (programId, shard, window, page) =>
      query(client, page, hold.decode, {
        TableName,
        IndexName: byStateIndex,
        ...inTimeWindow("is", heldKey(programId, shard), window),
      }),
  };
}
