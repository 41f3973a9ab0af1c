/** Reads lists of holds. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { HoldReader } from "../../../app/ports/holds.ts";
import { heldKey, hold, holdsOfUserKey } from "../codecs/holds.ts";
import { S } from "../sdk/attributes.ts";
import { query } from "../sdk/query-pages.ts";
import { byStateIndex, byUserIndex, type TableName } from "../tables.ts";
import { matching } from "./reservations.ts";

export function holdReads(client: DynamoDBClient, tableName: TableName): HoldReader {
  const TableName = tableName("reservations");
  return {
    holdsOfUser: (name, state, page) =>
      query(client, page, hold.decode, {
        ...{ TableName, IndexName: byUserIndex, ScanIndexForward: false },
        KeyConditionExpression: "iu = :h",
        ...(state && { FilterExpression: "s = :s" }),
        ExpressionAttributeValues: {
          ":h": S(holdsOfUserKey(name)),
          ...(state && { ":s": S(state) }),
        },
      }),

    heldInShard: (programId, shard, window, page) =>
      query(client, page, hold.decode, {
        ...{ TableName, IndexName: byStateIndex },
        ...matching("is", heldKey(programId, shard), window),
      }),
  };
}
