/** Copies the items of a table to a table of another prefix, as AWS restores a table by itself. */
import {
  BatchWriteItemCommand,
  type DynamoDBClient,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { untilDone } from "../../../src/platform/dynamodb/sdk/batch-requests.ts";
import { inBatches } from "../../../src/platform/ports/pages.ts";

/** The limit of BatchWriteItem. */
const writeLimit = 25;

/** Puts items into an empty table. */
export async function putItems(
  client: DynamoDBClient,
  TableName: string,
  items: readonly Item[],
): Promise<void> {
  for (const batch of inBatches(items, writeLimit)) {
    const requests = { [TableName]: batch.map((item) => ({ PutRequest: { Item: item } })) };
    await untilDone<WriteRequest[]>(requests, async (RequestItems) => {
      const answer = await client.send(new BatchWriteItemCommand({ RequestItems }));
      return answer.UnprocessedItems;
    });
  }
}
