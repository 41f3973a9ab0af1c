/** Asks DynamoDB what a table is like. */
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ResourceNotFoundException,
  type TableDescription,
} from "@aws-sdk/client-dynamodb";
import type { TableDefinition } from "./definitions.ts";
import type { FoundTable } from "./differences.ts";

/** Returns undefined if there is no such table. */
export async function describeTable(
  client: DynamoDBClient,
  TableName: string,
): Promise<TableDescription | undefined> {
  try {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    return Table;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

/** Finds what the definition of a table says of it. Returns undefined if there is no such table. */
export async function findTable(
  client: DynamoDBClient,
  { create: { TableName }, hasPointInTimeRecovery }: TableDefinition,
): Promise<FoundTable | undefined> {
  const description = await describeTable(client, TableName);
  if (description === undefined) return undefined;
  const isWanted = hasPointInTimeRecovery !== undefined;
  return {
    description,
    ttlAttribute: await ttlAttributeOf(client, TableName),
    hasPointInTimeRecovery: isWanted ? await hasBackups(client, TableName) : undefined,
  };
}

/** Returns undefined if DynamoDB deletes no items of the table by their time. */
export async function ttlAttributeOf(
  client: DynamoDBClient,
  TableName: string,
): Promise<string | undefined> {
  const { TimeToLiveDescription: found } = await client.send(
    new DescribeTimeToLiveCommand({ TableName }),
  );
  const isOn = found?.TimeToLiveStatus === "ENABLED" || found?.TimeToLiveStatus === "ENABLING";
  return isOn ? found.AttributeName : undefined;
}

/** Returns undefined if the store does not know backups, as DynamoDB Local does not. */
async function hasBackups(client: DynamoDBClient, TableName: string): Promise<boolean | undefined> {
  try {
    const { ContinuousBackupsDescription: found } = await client.send(
      new DescribeContinuousBackupsCommand({ TableName }),
    );
    return found?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === "ENABLED";
  } catch (error) {
    if (isUnknownOperation(error)) return undefined;
    throw error;
  }
}

/** Whether the store has said that it has no such operation. */
export const isUnknownOperation = (error: unknown): boolean =>
  (error as Error).name === "UnknownOperationException";
