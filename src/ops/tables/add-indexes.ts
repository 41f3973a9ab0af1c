/** Adds the indexes that a table lacks, while its readers and writers go on. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type CreateTableCommandInput,
  type DynamoDBClient,
  type GlobalSecondaryIndex,
  type TableDescription,
  UpdateTableCommand,
} from "@aws-sdk/client-dynamodb";
import type { Logger } from "../../platform/observe/log.ts";
import { describeTable } from "./describe.ts";

export interface AddOptions {
  readonly log: Pick<Logger, "info">;
  /** How often DynamoDB is asked how far it is. */
  readonly pollMs: number;
}

/** The errors of DynamoDB while the table is being changed, or once it has the index. */
const busyErrors: readonly string[] = [
  "ResourceInUseException",
  "LimitExceededException",
  "ValidationException",
];

/** After so many of these errors in a row it is not another setup that causes them. */
const maxBusyErrors = 5;

/**
 * Adds the missing global indexes one by one, because DynamoDB adds one at a time, and waits until
 * all are active. It goes on where a stopped setup has left off, also beside another one.
 */
export async function addMissingIndexes(
  client: DynamoDBClient,
  { TableName: table, GlobalSecondaryIndexes: wanted = [], ...definition }: WithName,
  { log, pollMs }: AddOptions,
): Promise<void> {
  for (let errors = 0; ; await sleep(pollMs)) {
    const found = (await describeTable(client, table)) ?? {};
    const statuses = statusesOf(found);
    const waiting = wanted.filter(({ IndexName }) => statuses.get(IndexName) !== "ACTIVE");
    if (waiting.length === 0) return;
    const [busy] = [...statuses].filter(([, status]) => status !== "ACTIVE");
    if (busy !== undefined || found.TableStatus !== "ACTIVE") {
      const [index, status] = busy ?? [];
      log.info({ table, index, status: status ?? found.TableStatus }, "waits for the table");
      continue;
    }
    const [missing] = waiting;
    if (missing === undefined) return;
    try {
      await addIndex(client, found, missing, definition.AttributeDefinitions);
      errors = 0;
      log.info({ table, index: missing.IndexName }, "adds an index");
    } catch (error) {
      errors += 1;
      const isBusy = busyErrors.includes((error as Error).name);
      if (!isBusy || errors === maxBusyErrors) throw error;
    }
  }
}

type WithName = CreateTableCommandInput & { readonly TableName: string };

const statusesOf = ({ GlobalSecondaryIndexes: indexes = [] }: TableDescription) =>
  new Map(indexes.map(({ IndexName, IndexStatus }) => [IndexName, IndexStatus]));

async function addIndex(
  client: DynamoDBClient,
  { TableName, BillingModeSummary, ProvisionedThroughput }: TableDescription,
  index: GlobalSecondaryIndex,
  types: CreateTableCommandInput["AttributeDefinitions"] = [],
): Promise<void> {
  const names = index.KeySchema?.map(({ AttributeName }) => AttributeName) ?? [];
  const { ReadCapacityUnits = 0, WriteCapacityUnits = 0 } = ProvisionedThroughput ?? {};
  const isOnDemand = BillingModeSummary?.BillingMode === "PAY_PER_REQUEST";
  const units = { ProvisionedThroughput: { ReadCapacityUnits, WriteCapacityUnits } };
  await client.send(
    new UpdateTableCommand({
      TableName,
      AttributeDefinitions: types.filter(({ AttributeName }) => names.includes(AttributeName)),
      GlobalSecondaryIndexUpdates: [{ Create: { ...index, ...(!isOnDemand && units) } }],
    }),
  );
}
