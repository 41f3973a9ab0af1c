/** Changes stored items behind the service's back. */
import { type DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";

/** Writes what `change` makes of a copy of the item, which is only the key if there is none. */
export async function changeItem(
  client: DynamoDBClient,
  TableName: string,
  Key: Item,
  change: (item: Item) => Item,
): Promise<void> {
  const get = new GetItemCommand({ TableName, Key, ConsistentRead: true });
  const { Item: found = Key } = await client.send(get);
  await client.send(new PutItemCommand({ TableName, Item: change(structuredClone(found)) }));
}
