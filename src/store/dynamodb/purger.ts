/** Deletes the reactions and read groups that a deleted target has left in DynamoDB. */
import {
  BatchWriteItemCommand,
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { inBatches } from "../../app/ports/pages.ts";
import type { Purger } from "../../app/ports/reactions.ts";
import { readGroupsKey } from "./codecs/notifications.ts";
import { reactionsKey } from "./codecs/reactions.ts";
import { type Item, text } from "./sdk/attributes.ts";
import { untilDone } from "./sdk/batch-requests.ts";
import { type Clients, orUnavailable } from "./sdk/client.ts";
import { pageAnswer, startOf } from "./sdk/query-pages.ts";
import type { TableName } from "./tables.ts";

/** How many keys one page reads. */
const pageSize = 1_000;

/** The limit of BatchWriteItem. */
const writeLimit = 25;

/** Deletes one batch after another, so that calls keep most of the table's throughput. */
export function createDynamoPurger({ retrying }: Clients, tableName: TableName): Purger {
  const reactions = tableName("reactions");
  const notifications = tableName("notifications");
  return {
    async reactions(target, kind) {
      const query = keysOf(reactions, {
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": reactionsKey(target, kind) },
      });
      const { Items = [], LastEvaluatedKey } = await orUnavailable(retrying.send(query));
      await deleteItems(retrying, reactions, Items);
      return LastEvaluatedKey !== undefined;
    },

    async history(ownerId, { type, id }, cursor) {
      const query = keysOf(notifications, {
        KeyConditionExpression: "pk = :o",
        ExpressionAttributeValues: { ":o": readGroupsKey(ownerId) },
        ...startOf(cursor),
      });
      const { Items = [], LastEvaluatedKey } = await pageAnswer(retrying.send(query), cursor);
      // A filter expression of DynamoDB cannot use key attributes.
      const found = Items.filter((item) => text(item, "sk").endsWith(`#${type}#${id}`));
      await deleteItems(retrying, notifications, found);
      return LastEvaluatedKey && JSON.stringify(LastEvaluatedKey);
    },
  };
}

const keysOf = (TableName: string, input: Omit<QueryCommandInput, "TableName">): QueryCommand =>
  new QueryCommand({
    ...input,
    TableName,
    ConsistentRead: true,
    ProjectionExpression: "pk, sk",
    Limit: pageSize,
  });

async function deleteItems(client: DynamoDBClient, table: string, keys: Item[]): Promise<void> {
  for (const batch of inBatches(keys, writeLimit)) {
    const requests: WriteRequest[] = batch.map((Key) => ({ DeleteRequest: { Key } }));
    await untilDone({ [table]: requests }, async (RequestItems) => {
      const command = new BatchWriteItemCommand({ RequestItems });
      return (await orUnavailable(client.send(command))).UnprocessedItems;
    });
  }
}
