/** Reads acts by their day or by their subject, the newest first. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { query } from "../../../platform/dynamodb/sdk/query-pages.ts";
import { bySubjectIndex } from "../../../platform/dynamodb/tables.ts";
import { timeKey } from "../../../platform/dynamodb/time-keys.ts";
import type { Window } from "../../../platform/ports/pages.ts";
import type { ActReader } from "../../ports/deps.ts";
import { act, dayKey, subjectKey } from "../codecs/acts.ts";

export function actReads(client: DynamoDBClient, TableName: string): ActReader {
  const newestFirst = { TableName, ScanIndexForward: false };
  return {
    actsOfDay: (programId, day, window, page) =>
      query(client, page, act.decode, {
        ...newestFirst,
        ConsistentRead: true,
        ...inWindow("pk", dayKey(programId, day), window),
      }),

    actsOfSubject: (programId, subject, window, page) =>
      query(client, page, act.decode, {
        ...newestFirst,
        IndexName: bySubjectIndex,
        ...inWindow("is", subjectKey(programId, subject), window),
      }),
  };
}

/** In a range key `#` and the id of a request follow the time, so a bare time is before them. */
const inWindow = (hash: string, key: string, { start, end }: Window) => ({
  KeyConditionExpression: "#h = :h AND sk BETWEEN :from AND :to",
  ExpressionAttributeNames: { "#h": hash },
  ExpressionAttributeValues: {
    ":h": { S: key },
    ":from": { S: timeKey(start ?? 0) },
    ":to": { S: end === undefined ? "~" : timeKey(end) },
  },
});
