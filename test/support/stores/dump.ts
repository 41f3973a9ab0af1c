/** Reads all items of a server's tables, so that a test can see that nothing was written. */
import { type DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../src/store/dynamodb/sdk/attributes.ts";
import { tables } from "../../../src/store/dynamodb/tables.ts";
import type { TestServer } from "../servers/server.ts";

/** Every item of every table of a server as text, in a fixed order. */
export async function dump({ dynamo, table }: TestServer): Promise<string[]> {
  const lines: string[] = [];
  for (const { TableName } of tables(table)) {
    for (const item of await itemsOf(dynamo, TableName as string)) {
      lines.push(JSON.stringify(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))));
    }
  }
  return lines.sort();
}

/** Every item of a table. */
export async function itemsOf(dynamo: DynamoDBClient, TableName: string): Promise<Item[]> {
  const items: Item[] = [];
  let ExclusiveStartKey: Item | undefined;
  do {
    const page = await dynamo.send(
      new ScanCommand({
        TableName,
        ConsistentRead: true,
        ...(ExclusiveStartKey && { ExclusiveStartKey }),
      }),
    );
    items.push(...(page.Items ?? []));
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  return items;
}
