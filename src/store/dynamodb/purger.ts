/** Deletes the reactions that a deleted target has left in DynamoDB. */
import { QueryCommand } from "@aws-sdk/client-dynamodb";
import type { Purger } from "../../app/ports/reactions.ts";
import { reactionsKey } from "./codecs/reactions.ts";
import { type Clients, orUnavailable } from "./sdk/client.ts";
import { deleteItems } from "./sdk/delete-items.ts";
import type { TableName } from "./tables.ts";

/** How many keys one page reads. */
const pageSize = 1_000;

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
