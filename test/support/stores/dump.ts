/** Reads all items of a server's tables, so that a test can see that nothing was written. */
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { tables } from "../../../src/store/dynamodb/tables.ts";
import type { TestServer } from "../servers/server.ts";

/** Every item of every table of a server as text, in a fixed order. */
export async function dump({ dynamo, table }: TestServer): Promise<string[]> {
  const lines: string[] = [];
  for (const { TableName } of tables(table)) {
    let ExclusiveStartKey: Record<string, never> | undefined;
    do {
      const page = await dynamo.send(
        new ScanCommand({
          TableName,
          ConsistentRead: true,
          ...(ExclusiveStartKey && { ExclusiveStartKey }),
        }),
      );
      for (const item of page.Items ?? []) {
        lines.push(JSON.stringify(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))));
      }
      ExclusiveStartKey = page.LastEvaluatedKey as typeof ExclusiveStartKey;
    } while (ExclusiveStartKey);
  }
  return lines.sort();
}
