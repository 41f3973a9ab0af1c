/** Scans the tables for the records whose changes are events. */
import {
  type AttributeValue,
  type DynamoDBClient,
  ScanCommand,
  type ScanCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { StreamedTable } from "../events/ports/changes.ts";
import type { RecordScan, ScannedItem } from "../events/ports/record-scan.ts";
import { type Item, S, text } from "../platform/dynamodb/sdk/attributes.ts";
import {
  cursorOf,
  pageAnswer,
  pageOf,
  query,
  startOf,
} from "../platform/dynamodb/sdk/query-pages.ts";
import type { TableName } from "../platform/dynamodb/tables.ts";
import type { Page, PageRequest } from "../platform/ports/pages.ts";
import { account } from "../points/store/codecs/points.ts";
import { decodeChange } from "./stream-records.ts";

type ScannedTable = Exclude<StreamedTable, "points">;

/** The items of each table that are answered; the others are only read. */
const filters: Readonly<Record<ScannedTable, Pick<ScanCommandInput, "FilterExpression">>> = {
  reservations: {},
  bulk: filtered("sk = :sk", { ":sk": S("G") }),
  reactions: filtered("sk = :sk", { ":sk": S("T") }),
  // Only groups have a version of their latest member.
  notifications: filtered("attribute_exists(l)"),
};

function filtered(FilterExpression: string, values?: Record<string, AttributeValue>) {
  return { FilterExpression, ...(values && { ExpressionAttributeValues: values }) };
}

export function createRecordScan(client: DynamoDBClient, tableName: TableName): RecordScan {
  async function scan<T>(
    { size, cursor }: PageRequest,
    decode: (item: Item) => T,
    input: ScanCommandInput,
  ): Promise<Page<T>> {
    const command = new ScanCommand({
      ...input,
      ConsistentRead: true,
      Limit: size,
      ...startOf(cursor),
    });
    const { Items = [], LastEvaluatedKey } = await pageAnswer(client.send(command), cursor);
    return pageOf(Items.map(decode), LastEvaluatedKey);
  }
  return {
    items: (table, { segment, segments }, page) =>
      scan(page, itemOf(table), {
        TableName: tableName(table),
        Segment: segment,
        TotalSegments: segments,
        ...filters[table],
      }),
    programs: (page) =>
      query(client, page, itemOf("points"), {
        TableName: tableName("points"),
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": S("P") },
      }),
    accounts: (page) => scan(page, account.decode, { TableName: tableName("accounts") }),
    cursorOfAccount: ({ programId, userId }) => cursorOf(account.key(`${programId}#${userId}`)),
  };
}

/** An item of a table as the change that has made it would tell it. */
const itemOf =
  (table: StreamedTable) =>
  (item: Item): ScannedItem => {
    const keys = `${text(item, "pk")} ${text(item, "sk")}`.trimEnd();
    const change = { keys: item, before: undefined, after: item };
    const { after, unreadable } = decodeChange(table, change);
    return { keys, records: unreadable === undefined ? after : undefined };
  };
