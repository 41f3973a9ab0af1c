/** Reads lists of holds. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { cursorOf, query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { byStateIndex, byUserIndex, type TableName } from "../../../platform/dynamodb/tables.ts";
import { inTimeWindow } from "../../../platform/dynamodb/time-keys.ts";
import type { HoldReader } from "../../ports/holds.ts";
import { holdRef } from "../../ports/records.ts";
import { heldKey, hold, holdsOfUserKey, untilKey } from "../codecs/holds.ts";

export function holdReads(client: DynamoDBClient, tableName: TableName): HoldReader {
  const TableName = tableName("reservations");
  return {
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
