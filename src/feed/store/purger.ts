/** Deletes the reactions and events that a deleted target has left in DynamoDB. */
import { type AttributeValue, QueryCommand } from "@aws-sdk/client-dynamodb";
import { type Clients, orUnavailable } from "../../platform/dynamodb/sdk/client.ts";
import { deleteItems } from "../../platform/dynamodb/sdk/delete-items.ts";
import type { TableName } from "../../platform/dynamodb/tables.ts";
import type { Pace } from "../../platform/ports/deps.ts";
import type { TargetName } from "../../platform/words/target-name.ts";
import type { Purger } from "../ports/reactions.ts";
import { purgeFlow } from "../rules/target.ts";
import { eventsKey } from "./codecs/events.ts";
import { reactionsKey } from "./codecs/reactions.ts";

/** How many keys one page reads. */
const pageSize = 1_000;

export function createDynamoPurger(
  { retrying }: Pick<Clients, "retrying">,
  tableName: TableName,
  pace: Pace,
): Purger {
  const reactions = tableName("reactions");

  /** Deletes a page of a partition. Returns whether there may be more. */
  async function deletePage(target: TargetName, partition: AttributeValue): Promise<boolean> {
    const query = new QueryCommand({
      TableName: reactions,
      ConsistentRead: true,
      KeyConditionExpression: "pk = :p",
      ExpressionAttributeValues: { ":p": partition },
      ProjectionExpression: "pk, sk",
      Limit: pageSize,
    });
    const { Items = [], LastEvaluatedKey } = await orUnavailable(retrying.send(query));
    await deleteItems(retrying, reactions, Items, (changes) => pace(purgeFlow(target), changes));
    return LastEvaluatedKey !== undefined;
  }

  return {
    reactions: (target, kind) => deletePage(target, reactionsKey(target, kind)),
    events: (name) => deletePage(name.target, eventsKey(name)),
  };
}
