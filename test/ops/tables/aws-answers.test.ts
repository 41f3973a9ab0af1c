/**
 * Sets up a table that answers as DynamoDB does where DynamoDB Local does not: an index that takes
 * its time, one change at a time, and backups that are not there at once.
 */
import {
  ContinuousBackupsUnavailableException,
  type CreateTableCommandInput,
  type DynamoDBClient,
  ResourceNotFoundException,
  type TableDescription,
  type UpdateTableCommandInput,
} from "@aws-sdk/client-dynamodb";
import { expect, test, vi } from "vitest";
import { tableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { lineOf } from "../../../src/ops/tables/differences.ts";
import { manageTables } from "../../../src/ops/tables/manage-tables.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";

const [, , reservations] = tableDefinitions(tableName("shop-"));
if (!reservations) throw new Error("a definition is missing");

const named = (name: string) => Object.assign(new Error(name), { name });

/** The answers for a table. Each index takes so many descriptions in each of its two phases. */
function createTable(
  given: TableDescription | undefined,
  { phase = 2, refusals = [] as string[], unavailable = 0, hasBackups = true } = {},
) {
  let table = given;
  let isBackedUp = given !== undefined && hasBackups;
  let adding: { name: string | undefined; described: number } | undefined;
  const updates: UpdateTableCommandInput[] = [];

  function describe(): TableDescription {
    if (adding && ++adding.described > 2 * phase) adding = undefined;
    const { GlobalSecondaryIndexes: indexes = [], ...rest } = table ?? {};
    return {
      ...rest,
      TableStatus: adding && adding.described <= phase ? "UPDATING" : "ACTIVE",
      GlobalSecondaryIndexes: indexes.map((index) => ({
        ...index,
        IndexStatus: index.IndexName === adding?.name ? "CREATING" : "ACTIVE",
      })),
    };
  }
  function update(input: UpdateTableCommandInput): void {
    const refusal = refusals.shift();
    if (refusal) throw named(refusal);
    if (adding) throw named("LimitExceededException");
    const [{ Create: index } = {}] = input.GlobalSecondaryIndexUpdates ?? [];
    updates.push(input);
    adding = { name: index?.IndexName, described: 0 };
    const { GlobalSecondaryIndexes: indexes = [], AttributeDefinitions: types = [] } = table ?? {};
    const more = (input.AttributeDefinitions ?? []).filter(
      ({ AttributeName: name }) => !types.some((each) => each.AttributeName === name),
    );
    table = {
      ...table,
      AttributeDefinitions: [...types, ...more],
      GlobalSecondaryIndexes: [...indexes, { ...index }],
    };
  }
  const answers: Record<string, (input: never) => object> = {
    DescribeTableCommand: () => {
      if (!table) throw new ResourceNotFoundException({ message: "no table", $metadata: {} });
      return { Table: describe() };
    },
    DescribeTimeToLiveCommand: () => ({}),
    DescribeContinuousBackupsCommand: () => {
      const status = isBackedUp ? "ENABLED" : "DISABLED";
      const PointInTimeRecoveryDescription = { PointInTimeRecoveryStatus: status };
      return { ContinuousBackupsDescription: { PointInTimeRecoveryDescription } };
    },
    CreateTableCommand: (input: CreateTableCommandInput) => {
      table = input as TableDescription;
      return {};
    },
    UpdateTableCommand: (input: UpdateTableCommandInput) => {
      update(input);
      return {};
    },
    UpdateContinuousBackupsCommand: () => {
      if (unavailable-- > 0) {
        throw new ContinuousBackupsUnavailableException({ message: "not yet", $metadata: {} });
      }
      isBackedUp = true;
      return {};
    },
  };
  const send = async (command: { readonly constructor: { name: string }; input: never }) => {
    const answer = answers[command.constructor.name];
    if (!answer) throw new Error(`unexpected ${command.constructor.name}`);
    return answer(command.input);
  };
  const client = { send } as unknown as DynamoDBClient;
  return { client, updates, isBackedUp: () => isBackedUp };
}

const { GlobalSecondaryIndexes: indexes = [], ...rest } = reservations.create;
const [byUser, byState] = indexes;
/** The table of a version without indexes. */
const older = {
  ...(rest as TableDescription),
  AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" as const }],
  BillingModeSummary: { BillingMode: "PAY_PER_REQUEST" as const },
};

const manage = (client: DynamoDBClient, info = vi.fn()) =>
  manageTables(client, [reservations], { log: { info }, pollMs: 1 });

test("indexes are added one at a time, each when the last one is active", async () => {
  const { client, updates } = createTable(older);
  const info = vi.fn();
  expect(await manage(client, info)).toEqual([]);
  const type = (name: string) => ({ AttributeName: name, AttributeType: "S" });
  expect(updates).toEqual([
    {
      TableName: "shop-reservations",
      AttributeDefinitions: [type("iu"), type("ix")],
      GlobalSecondaryIndexUpdates: [{ Create: byUser }],
    },
    {
      TableName: "shop-reservations",
      AttributeDefinitions: [type("is"), type("ix")],
      GlobalSecondaryIndexUpdates: [{ Create: byState }],
    },
  ]);
  const table = "shop-reservations";
  const waits = { status: "CREATING", table };
  expect(info.mock.calls).toEqual(
    ["by-user", "by-state"].flatMap((index) => [
      [{ table, index }, "adds an index"],
      ...Array(4).fill([{ ...waits, index }, "waits for the table"]),
    ]),
  );
});

test("an index of a table with provisioned units gets as many as the table", async () => {
  const units = { ReadCapacityUnits: 7, WriteCapacityUnits: 9 };
  const { BillingModeSummary: _, ...provisioned } = older;
  const { client, updates } = createTable({ ...provisioned, ProvisionedThroughput: units });
  await manage(client);
  expect(updates.map((update) => update.GlobalSecondaryIndexUpdates?.[0])).toEqual(
    [byUser, byState].map((index) => ({ Create: { ...index, ProvisionedThroughput: units } })),
  );
});

test("what another change refuses is tried again, other errors end the setup", async () => {
  const busy = ["ResourceInUseException", "LimitExceededException", "ValidationException"];
  const { client, updates } = createTable(older, { refusals: busy });
  expect(await manage(client)).toEqual([]);
  expect(updates).toHaveLength(2);
  const forbidden = createTable(older, { refusals: ["AccessDeniedException"] });
  await expect(manage(forbidden.client)).rejects.toThrow("AccessDeniedException");
  const invalid = createTable(older, { refusals: Array(9).fill("ValidationException") });
  await expect(manage(invalid.client)).rejects.toThrow("ValidationException");
});

test("a new table gets its backups, also when they are not there at once", async () => {
  const { client, isBackedUp } = createTable(undefined, { unavailable: 2 });
  expect(await manage(client)).toEqual([]);
  expect(isBackedUp()).toBe(true);
});

const createdHoursAgo = (hours: number): TableDescription => ({
  ...(reservations.create as TableDescription),
  CreationDateTime: new Date(Date.now() - hours * 3_600_000),
});

test("a table that a stopped setup left without backups gets them", async () => {
  const { client, isBackedUp } = createTable(createdHoursAgo(1), { hasBackups: false });
  expect(await manage(client)).toEqual([]);
  expect(isBackedUp()).toBe(true);
});

test("backups of a table that exists for longer are not changed, and named", async () => {
  const { client, isBackedUp } = createTable(createdHoursAgo(25), { hasBackups: false });
  expect((await manage(client)).map(lineOf)).toEqual([
    "shop-reservations: point-in-time recovery is off, and should be on",
  ]);
  expect(isBackedUp()).toBe(false);
});
