import { setTimeout as sleep } from "node:timers/promises";
import {
  BatchWriteItemCommand,
  type DynamoDBClient,
  QueryCommand,
  type QueryCommandInput,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import type { Remover } from "../../app/ports.ts";
import { DomainError } from "../../domain/errors.ts";
import { type Item, text } from "./attributes.ts";
import { inBatches } from "./batches.ts";
import { type Clients, orUnavailable } from "./client.ts";
import { historyKey, reactionsKey } from "./codecs-reactions.ts";
import { ask, startOf } from "./pages.ts";
import type { TableName } from "./tables.ts";

/** How many keys are looked at for one page. */
const pageSize = 1_000;

/** What BatchWriteItem takes at once. */
const writeLimit = 25;

/** How often a write sends again what the store has left undone, and how long it waits before. */
const writeTries = 8;
const writePauseMs = 20;

/** Removes items of DynamoDB one batch after another, so that it takes little from others. */
export function createDynamoRemover({ retrying }: Clients, tableName: TableName): Remover {
  const reactions = tableName("reactions");
  const notifications = tableName("notifications");
  return {
    async reactions(target, kind) {
      const query = keysOf(reactions, {
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": reactionsKey(target, kind) },
      });
      const { Items = [], LastEvaluatedKey } = await ask(retrying, query, undefined);
      await remove(retrying, reactions, Items);
      return LastEvaluatedKey !== undefined;
    },

    async history(owner, { type, id }, cursor) {
      const query = keysOf(notifications, {
        KeyConditionExpression: "pk = :o",
        ExpressionAttributeValues: { ":o": historyKey(owner) },
        ...startOf(cursor),
      });
      const { Items = [], LastEvaluatedKey } = await ask(retrying, query, cursor);
      // DynamoDB filters by no part of a key.
      const found = Items.filter((item) => text(item, "sk").endsWith(`#${type}#${id}`));
      await remove(retrying, notifications, found);
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

async function remove(client: DynamoDBClient, table: string, keys: Item[]): Promise<void> {
  for (const batch of inBatches(keys, writeLimit)) {
    let left: WriteRequest[] = batch.map((Key) => ({ DeleteRequest: { Key } }));
    for (let tries = 1; left.length > 0; tries++) {
      if (tries > writeTries) {
        throw new DomainError("STORE_UNAVAILABLE", "the store did not remove all items");
      }
      if (tries > 1) await sleep(writePauseMs * tries * Math.random());
      const command = new BatchWriteItemCommand({ RequestItems: { [table]: left } });
      const { UnprocessedItems } = await orUnavailable(client.send(command));
      left = UnprocessedItems?.[table] ?? [];
    }
  }
}
