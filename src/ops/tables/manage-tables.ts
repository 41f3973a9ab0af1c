/** Creates missing tables, adds missing indexes, and enables the time to live of tables. */
import {
  ContinuousBackupsUnavailableException,
  CreateTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import pRetry from "p-retry";
import { type AddOptions, addMissingIndexes } from "./add-indexes.ts";
import type { TableDefinition } from "./definitions.ts";
import { findTable, isUnknownOperation, ttlAttributeOf } from "./describe.ts";
import { type Difference, differencesOf } from "./differences.ts";

/** Compares the tables with their definitions, and changes nothing. */
export async function compareTables(
  client: DynamoDBClient,
  definitions: readonly TableDefinition[],
): Promise<Difference[]> {
  const compare = async (definition: TableDefinition) =>
    differencesOf(definition, await findTable(client, definition));
  return (await Promise.all(definitions.map(compare))).flat();
}

/**
 * Creates and adds what is missing, as often as it is called and while other setups do the same.
 * Returns the differences that it leaves alone.
 */
export async function manageTables(
  client: DynamoDBClient,
  definitions: readonly TableDefinition[],
  options: AddOptions,
): Promise<Difference[]> {
  const manage = async (definition: TableDefinition): Promise<Difference[]> => {
    const found = await findTable(client, definition);
    if (found === undefined) {
      await createTable(client, definition, options.pollMs);
      return [];
    }
    await addMissingIndexes(client, definition.create, options);
    const { ttlAttribute } = definition;
    if (ttlAttribute !== undefined && found.ttlAttribute === undefined) {
      await enableTimeToLive(client, definition.create.TableName, ttlAttribute);
    }
    const lacksBackups =
      definition.hasPointInTimeRecovery && found.hasPointInTimeRecovery === false;
    if (lacksBackups && isNew(found.description)) {
      await enableBackups(client, definition.create.TableName, options.pollMs);
    }
    return differencesOf(definition, await findTable(client, definition));
  };
  return (await Promise.all(definitions.map(manage))).flat();
}

const dayMs = 86_400_000;

/** Whether a setup may have created the table and been stopped before it enabled its backups. */
const isNew = ({ CreationDateTime: created }: TableDescription): boolean =>
  created !== undefined && Date.now() - created.getTime() < dayMs;

/** Creates the tables that do not exist, and waits until all can be used. */
export async function createTables(
  client: DynamoDBClient,
  definitions: readonly TableDefinition[],
): Promise<void> {
  await Promise.all(definitions.map((definition) => createTable(client, definition, 1_000)));
}

async function createTable(
  client: DynamoDBClient,
  { create, ttlAttribute, hasPointInTimeRecovery }: TableDefinition,
  pollMs: number,
): Promise<void> {
  const { TableName } = create;
  try {
    await client.send(new CreateTableCommand(create));
  } catch (error) {
    // Another setup has just created it.
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await waitUntilTableExists({ client, maxWaitTime: 120, minDelay: 1 }, { TableName });
  if (ttlAttribute !== undefined) await enableTimeToLive(client, TableName, ttlAttribute);
  if (hasPointInTimeRecovery) await enableBackups(client, TableName, pollMs);
}

/** Enables the TTL of a table. DynamoDB refuses to enable it twice, so a refusal is checked. */
async function enableTimeToLive(
  client: DynamoDBClient,
  TableName: string,
  AttributeName: string,
): Promise<void> {
  const TimeToLiveSpecification = { AttributeName, Enabled: true };
  try {
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
  } catch (error) {
    if ((error as Error).name !== "ValidationException") throw error;
    if ((await ttlAttributeOf(client, TableName)) !== AttributeName) throw error;
  }
}

/** Enables continuous backups. DynamoDB refuses that for about a minute after it made the table. */
async function enableBackups(
  client: DynamoDBClient,
  TableName: string,
  pollMs: number,
): Promise<void> {
  const enable = new UpdateContinuousBackupsCommand({
    TableName,
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
  });
  try {
    await pRetry(() => client.send(enable), {
      retries: 60,
      factor: 1,
      minTimeout: pollMs,
      shouldRetry: ({ error }) => error instanceof ContinuousBackupsUnavailableException,
    });
  } catch (error) {
    if (!isUnknownOperation(error)) throw error;
  }
}
