/** Reads programs, accounts and ledgers. */
import { type DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../platform/dynamodb/sdk/attributes.ts";
import {
  cursorOf,
  pageAnswer,
  pageOf,
  query,
  startOf,
} from "../../../platform/dynamodb/sdk/query-pages.ts";
import { expiryIndex, type TableName } from "../../../platform/dynamodb/tables.ts";
import type { AccountName, PointsReader } from "../../ports/points.ts";
import type { ProgramReader } from "../../ports/programs.ts";
import { job, jobsKey, kindPrefix } from "../codecs/jobs.ts";
import { account, event, expiryKey, program } from "../codecs/points.ts";
import { listEntries, listStoredEntries } from "../ledger-items.ts";
import { listLedgerFrom } from "./ledger-from.ts";

export function pointsReads(
  client: DynamoDBClient,
  tableName: TableName,
): Pick<ProgramReader, "programs"> & PointsReader {
  const [accounts, points] = [tableName("accounts"), tableName("points")];
  return {
    programs: (page) =>
      query(client, page, program.decode, {
        TableName: points,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": { S: "P" } },
      }),

    entries: (name, query, page) => listEntries(client, points, name, query, page),

    storedEntries: (name, page) => listStoredEntries(client, points, name, page),

    async entryCopies({ programId, userId }, { from, to }, segment, segments, page) {
      const answer = await pageAnswer(
        client.send(
          new ScanCommand({
            TableName: points,
            Segment: segment,
            TotalSegments: segments,
            Limit: page.size,
            FilterExpression: "begins_with(pk, :p) AND n BETWEEN :from AND :to",
            ExpressionAttributeValues: {
              ":p": { S: `K#${programId}#${userId}#` },
              ":from": { N: String(from) },
              ":to": { N: String(to) },
            },
            ...startOf(page.cursor),
          }),
        ),
        page.cursor,
      );
      const copies = (answer.Items ?? []).map((item) => event.decode(item).entry);
      return pageOf(copies, answer.LastEvaluatedKey);
    },

    dueAccounts: (programId, shard, month, page) =>
      query(client, page, accountName, {
        TableName: accounts,
        IndexName: expiryIndex,
        KeyConditionExpression: "xp = :s AND xm <= :m",
        ExpressionAttributeValues: {
          ":s": { S: expiryKey(programId, shard) },
          ":m": { N: String(month) },
        },
      }),

    async accounts(programId, segment, segments, page) {
      const command = new ScanCommand({
        TableName: accounts,
        ConsistentRead: true,
        Segment: segment,
        TotalSegments: segments,
        Limit: page.size,
        FilterExpression: "begins_with(pk, :p)",
        ExpressionAttributeValues: { ":p": { S: `A#${programId}#` } },
        ...startOf(page.cursor),
      });
      const { Items = [], LastEvaluatedKey } = await pageAnswer(client.send(command), page.cursor);
      return pageOf(Items.map(account.decode), LastEvaluatedKey);
    },

    cursorOfAccount: ({ programId, userId }) => cursorOf(account.key(`${programId}#${userId}`)),

    jobs: (programId, kind, page) =>
      query(client, page, job.decode, {
        TableName: points,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p AND begins_with(sk, :k)",
        ExpressionAttributeValues: {
          ":p": { S: jobsKey(programId) },
          ":k": { S: kindPrefix(kind) },
        },
      }),
    ledgerFrom: (name, from, page) => listLedgerFrom(client, points, name, from, page),
  };
}

function accountName(item: Item): AccountName {
  const [, programId, userId] = (item.pk?.S ?? "").split("#") as [string, string, string];
  return { programId, userId };
}
