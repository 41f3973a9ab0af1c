/** Writes and deletes the rows of uploads in DynamoDB. */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { type Clients, orUnavailable } from "../../platform/dynamodb/sdk/client.ts";
import { deleteItems } from "../../platform/dynamodb/sdk/delete-items.ts";
import { query } from "../../platform/dynamodb/sdk/query-pages.ts";
import type { TableName } from "../../platform/dynamodb/tables.ts";
import { allPages } from "../../platform/ports/pages.ts";
import type { SheetStore } from "../ports/bulk-grants.ts";
import { rowsKey, uploadKey } from "./codecs/bulk-grants.ts";
import { encodeRows } from "./codecs/bulk-rows.ts";

/** How many keys one page reads. A page of DynamoDB ends after 1 MB, before so many blocks. */
const pageSize = 1_000;

/** Writes by the client that retries: a block written twice is the same block. */
export function createDynamoSheetStore(
  { retrying }: Pick<Clients, "retrying">,
  tableName: TableName,
): SheetStore {
  const bulk = tableName("bulk");
  return {
    async putBlock(uploadId, block, rows) {
      const item = { ...rowsKey(uploadId, block), ...encodeRows(rows) };
      await orUnavailable(retrying.send(new PutItemCommand({ TableName: bulk, Item: item })));
    },

    async deleteRows(uploadId) {
      const keys = allPages(pageSize, (page) =>
        query(retrying, page, (item) => item, {
          TableName: bulk,
          ConsistentRead: true,
          KeyConditionExpression: "pk = :p",
          ExpressionAttributeValues: { ":p": uploadKey(uploadId) },
          ProjectionExpression: "pk, sk",
        }),
      );
      for await (const page of keys) await deleteItems(retrying, bulk, page);
    },
  };
}
