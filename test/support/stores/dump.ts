/** Reads all that a server has stored, so that a test can see that nothing was written. */
import { setTimeout as sleep } from "node:timers/promises";
import { inspect, isDeepStrictEqual } from "node:util";
import { type DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { tables } from "../../../src/platform/dynamodb/tables.ts";
import type { MemoryServer, TestServer } from "../servers/server.ts";

/** Every item of every table of a server, or every record in memory, as text in a fixed order. */
export async function dump(server: TestServer | MemoryServer): Promise<string[]> {
  if ("store" in server) return Object.entries(server.store.dump()).map(asText);
  const { dynamo, table } = server;
  const lines: string[] = [];
  for (const each of tables) {
    for (const item of await itemsOf(dynamo, table(each))) {
      lines.push(JSON.stringify(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))));
    }
  }
  return lines.sort();
}

/** All that is stored, once nothing is written in the background any more. */
export async function dumpAtRest(server: TestServer | MemoryServer): Promise<string[]> {
  for (let before = await dump(server); ; ) {
    await sleep(20);
    const after = await dump(server);
    if (isDeepStrictEqual(before, after)) return after;
    before = after;
  }
}

/** A record with its name and version. */
const asText = (entry: unknown): string =>
  inspect(entry, { depth: null, maxArrayLength: null, maxStringLength: null });

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
