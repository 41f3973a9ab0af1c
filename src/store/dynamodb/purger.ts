/** Deletes the reactions that a deleted target has left in DynamoDB. */
import {
  BatchWriteItemCommand,
  type DynamoDBClient,
  QueryCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { inBatches } from "../../app/ports/pages.ts";
import type { Purger } from "../../app/ports/reactions.ts";
import { reactionsKey } from "./codecs/reactions.ts";
import type { Item } from "./sdk/attributes.ts";
import { untilDone } from "./sdk/batch-requests.ts";
import { type Clients, orUnavailable } from "./sdk/client.ts";
import type { TableName } from "./tables.ts";

/** How many keys one page reads. */
const pageSize = 1_000;

/** The limit of BatchWriteItem. */
const writeLimit = 25;

/** Deletes one batch after another, so that calls keep most of the table's throughput. */
export function createDynamoPurger({ retrying }: Clients, tableName: TableName): Purger {
  const reactions = tableName("reactions");
  return {
    async reactions(target, kind) {
      const query = new QueryCommand({
        TableName: reactions,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": reactionsKey(target, kind) },
        ProjectionExpression: "pk, sk",
        Limit: pageSize,
      });
      const { Items = [], LastEvaluatedKey } = await orUnavailable(retrying.send(query));
      await deleteItems(retrying, reactions, Items);
      return LastEvaluatedKey !== undefined;
    },
  };
}

async function deleteItems(client: DynamoDBClient, table: string, keys: Item[]): Promise<void> {
  for (const batch of inBatches(keys, writeLimit)) {
    const requests: WriteRequest[] = batch.map((Key) => ({ DeleteRequest: { Key } }));
    await untilDone({ [table]: requests }, async (RequestItems) => {
      const command = new BatchWriteItemCommand({ RequestItems });
      return (await orUnavailable(client.send(command))).UnprocessedItems;
    });
  }
}
