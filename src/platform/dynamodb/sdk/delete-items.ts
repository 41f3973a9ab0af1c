/** Deletes many items by their keys. */
import {
  BatchWriteItemCommand,
  type DynamoDBClient,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { inBatches } from "../../ports/pages.ts";
import type { Item } from "./attributes.ts";
import { untilDone } from "./batch-requests.ts";
import { orUnavailable } from "./client.ts";

/** The limit of BatchWriteItem. */
const writeLimit = 25;

/**
 * Deletes one batch after another, at the pace if one is given. Throws THROTTLED or
 * STORE_UNAVAILABLE when the store does not delete all of them.
 */
export async function deleteItems(
  client: DynamoDBClient,
  table: string,
  keys: readonly Item[],
  pace?: (changes: number) => Promise<void>,
): Promise<void> {
  for (const batch of inBatches(keys, writeLimit)) {
    await pace?.(batch.length);
    const requests: WriteRequest[] = batch.map((Key) => ({ DeleteRequest: { Key } }));
    await untilDone({ [table]: requests }, async (RequestItems) => {
      const command = new BatchWriteItemCommand({ RequestItems });
      return (await orUnavailable(client.send(command))).UnprocessedItems;
    });
  }
}
