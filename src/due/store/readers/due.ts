/** Reads lists of what falls due. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S } from "../../../platform/dynamodb/sdk/attributes.ts";
import { query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import type { DueReader } from "../../ports/due.ts";
import { dueHour, dueHoursKey, pendingStart, pendingStartsKey } from "../codecs/due.ts";

export function dueReads(client: DynamoDBClient, points: string): DueReader {
  return {
    pendingStarts: (shard, page) =>
      query(client, page, pendingStart.decode, {
        TableName: points,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": pendingStartsKey(shard) },
      }),

    dueHours: (shard, until, page) =>
      query(client, page, dueHour.decode, {
        TableName: points,
        KeyConditionExpression: "pk = :p AND sk < :to",
        ExpressionAttributeValues: { ":p": dueHoursKey(shard), ":to": S(timeKey(until + 1)) },
      }),
  };
}
