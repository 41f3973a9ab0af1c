/** The tables and indexes of DynamoDB, as docs/keys.md describes them, and their creation. */
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";

/** The names of the tables without their prefix. */
export type Table = "points" | "reservations" | "bulk" | "reactions" | "notifications";

export const expiryIndex = "expiry";
export const byUserIndex = "by-user";
export const byStateIndex = "by-state";
export const byTimeIndex = "by-time";
export const byVersionIndex = "by-n";
export const byPersonIndex = "by-person";
export const byLastIndex = "by-last";

/** The attribute with the time, in seconds, after which DynamoDB deletes an item. */
const ttlAttribute = "ttl";

/** Returns the name of a table with the prefix of its environment. */
export type TableName = (table: Table) => string;

export const tableName =
  (prefix: string): TableName =>
  (table) =>
    `${prefix}${table}`;

/** The definitions of all tables, billed by request. */
export function tables(name: TableName): CreateTableCommandInput[] {
  return [
    {
      TableName: name("points"),
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [string("pk"), string("sk"), string("xp"), number("xm")],
      KeySchema: key("pk", "sk"),
      GlobalSecondaryIndexes: [
        {
          IndexName: expiryIndex,
          KeySchema: key("xp", "xm"),
          Projection: { ProjectionType: "KEYS_ONLY" },
        },
      ],
    },
    {
      TableName: name("reservations"),
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [string("pk"), string("iu"), string("is"), string("ix")],
      KeySchema: key("pk"),
      GlobalSecondaryIndexes: [
        wholeItems(byUserIndex, "iu", "ix"),
        wholeItems(byStateIndex, "is", "ix"),
      ],
    },
    {
      TableName: name("bulk"),
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [string("pk"), string("sk"), string("ip"), string("is"), string("ix")],
      KeySchema: key("pk", "sk"),
      GlobalSecondaryIndexes: [
        wholeItems(byTimeIndex, "ip", "ix"),
        wholeItems(byStateIndex, "is", "ix"),
      ],
    },
    {
      TableName: name("reactions"),
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [string("pk"), string("sk"), number("n"), number("t")],
      KeySchema: key("pk", "sk"),
      LocalSecondaryIndexes: [wholeItems(byVersionIndex, "pk", "n")],
      GlobalSecondaryIndexes: [wholeItems(byPersonIndex, "sk", "t")],
    },
    {
      TableName: name("notifications"),
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [string("pk"), string("sk"), number("l")],
      KeySchema: key("pk", "sk"),
      LocalSecondaryIndexes: [wholeItems(byLastIndex, "pk", "l")],
    },
  ];
}

/** Creates the tables that do not exist, waits until all can be used, and enables their TTL. */
export async function createTables(client: DynamoDBClient, name: TableName): Promise<void> {
  await Promise.all(
    tables(name).map(async (table) => {
      try {
        await client.send(new CreateTableCommand(table));
      } catch (error) {
        if (!(error instanceof ResourceInUseException)) throw error;
      }
      await waitUntilTableExists(
        { client, maxWaitTime: 120, minDelay: 1 },
        { TableName: table.TableName },
      );
    }),
  );
  await enableTimeToLive(client, name("notifications"));
  await enableTimeToLive(client, name("reactions"));
}

/** Enables the TTL of a table. DynamoDB refuses to enable it twice, so a refusal is checked. */
async function enableTimeToLive(client: DynamoDBClient, TableName: string): Promise<void> {
  const TimeToLiveSpecification = { AttributeName: ttlAttribute, Enabled: true };
  try {
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
  } catch (error) {
    if ((error as Error).name !== "ValidationException") throw error;
    const { TimeToLiveDescription: found } = await client.send(
      new DescribeTimeToLiveCommand({ TableName }),
    );
    const isOn = found?.TimeToLiveStatus === "ENABLED" || found?.TimeToLiveStatus === "ENABLING";
    if (!isOn || found.AttributeName !== ttlAttribute) throw error;
  }
}

const string = (name: string) => ({ AttributeName: name, AttributeType: "S" as const });
const number = (name: string) => ({ AttributeName: name, AttributeType: "N" as const });

/** An index that holds whole items. */
const wholeItems = (IndexName: string, hash: string, range: string) => ({
  IndexName,
  KeySchema: key(hash, range),
  Projection: { ProjectionType: "ALL" as const },
});

function key(hash: string, range?: string) {
  const schema = [{ AttributeName: hash, KeyType: "HASH" as const }];
  return range ? [...schema, { AttributeName: range, KeyType: "RANGE" as const }] : schema;
}
