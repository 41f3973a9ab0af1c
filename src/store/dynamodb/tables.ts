import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";

/** The tables, by what they hold. */
export type Table = "points" | "reservations";

export const expiryIndex = "expiry";
export const byUserIndex = "by-user";
export const byStateIndex = "by-state";

/** The full name of a table: one prefix per environment. */
export type TableName = (table: Table) => string;

export const tableName =
  (prefix: string): TableName =>
  (table) =>
    `${prefix}${table}`;

/** The tables as docs/keys.md describes them, billed by request. */
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
        {
          IndexName: byUserIndex,
          KeySchema: key("iu", "ix"),
          Projection: { ProjectionType: "ALL" },
        },
        {
          IndexName: byStateIndex,
          KeySchema: key("is", "ix"),
          Projection: { ProjectionType: "ALL" },
        },
      ],
    },
  ];
}

/** Creates what is not there yet and waits until all of it can be used. */
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
}

const string = (name: string) => ({ AttributeName: name, AttributeType: "S" as const });
const number = (name: string) => ({ AttributeName: name, AttributeType: "N" as const });

function key(hash: string, range?: string) {
  const schema = [{ AttributeName: hash, KeyType: "HASH" as const }];
  return range ? [...schema, { AttributeName: range, KeyType: "RANGE" as const }] : schema;
}
