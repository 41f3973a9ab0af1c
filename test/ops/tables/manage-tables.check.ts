/** Sets up tables on DynamoDB Local: new ones, those of an older version, and several at once. */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  CreateTableCommand,
  DeleteTableCommand,
  type DynamoDBClient,
  UpdateTableCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { setupProgram, setupTables } from "../../../src/ops/setup.ts";
import {
  localTableDefinitions,
  type TableDefinition,
  tableDefinitions,
} from "../../../src/ops/tables/definitions.ts";
import { lineOf } from "../../../src/ops/tables/differences.ts";
import {
  compareTables,
  createTables,
  manageTables,
} from "../../../src/ops/tables/manage-tables.ts";
import { readConfig } from "../../../src/platform/config/config.ts";
import { OperatorError } from "../../../src/platform/config/config-error.ts";
import { type Clients, createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { type TableName, tableName } from "../../../src/platform/dynamodb/tables.ts";
import { createLogger, type Logger } from "../../../src/platform/observe/log.ts";
import { runAs } from "../../support/deploy/run-as.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { projectRoot } from "../../support/markdown.ts";
import { startServer } from "../../support/servers/server.ts";
import { deleteTables } from "../../support/stores/delete-tables.ts";

let clients: Clients;
let client: DynamoDBClient;
beforeAll(() => {
  clients = createClients({ endpoint: inject("dynamodbEndpoint"), region: "ap-northeast-1" });
  client = clients.retrying;
});
afterAll(() => clients.close());

const quiet = createLogger("test", "silent");
const options = { log: quiet, pollMs: 20 };

function newPrefix(): string {
  const prefix = `tables-${randomUUID().slice(0, 8)}-`;
  onTestFinished(() => deleteTables(client, tableName(prefix)));
  return prefix;
}

/** The definitions of an older version, whose reservations had no indexes and nothing a TTL. */
const olderDefinitions = (names: TableName): TableDefinition[] =>
  localTableDefinitions(names).map((definition) => {
    if (definition.create.TableName !== names("reservations")) {
      return { ...definition, ttlAttribute: undefined };
    }
    const { GlobalSecondaryIndexes: _, AttributeDefinitions, ...create } = definition.create;
    const [pk] = AttributeDefinitions ?? [];
    return { ...definition, create: { ...create, AttributeDefinitions: pk && [pk] } };
  });

const compare = async (names: TableName): Promise<string[]> =>
  (await compareTables(client, localTableDefinitions(names))).map(lineOf);

const oldLines = (names: TableName) => [
  expect.stringMatching(`^${names("reservations")}: the index by-user is missing`),
  expect.stringMatching(`^${names("reservations")}: the index by-state is missing`),
  `${names("reactions")}: time to live is off, and should be by ttl`,
  `${names("notifications")}: time to live is off, and should be by ttl`,
  `${names("events")}: time to live is off, and should be by ttl`,
];

const setupConfig = (prefix: string) =>
  readConfig(
    { MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"), MEGURI_TABLE_PREFIX: prefix },
    "setup",
  );

/** Sets the tables up in this process. */
const setUpTables = (prefix: string, log: Logger) =>
  runAs("setup", prefix, () => setupTables(setupConfig(prefix), log, options.pollMs));

/** Runs the setup as a process, without a Temporal. */
const runSetup = (env: Readonly<Record<string, string>>) =>
  new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    const variables = {
      MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"),
      MEGURI_TEMPORAL_ADDRESS: "127.0.0.1:9",
      ...env,
    };
    const at = { cwd: projectRoot, env: { ...process.env, ...variables } };
    execFile(process.execPath, ["src/ops/setup.ts"], at, (error, out, err) => {
      resolve({ code: error === null ? 0 : error.code, out, err });
    });
  });

test("tables are created once, as the template defines them", async () => {
  const names = tableName(newPrefix());
  const definitions = localTableDefinitions(names);
  await Promise.all([createTables(client, definitions), createTables(client, definitions)]);
  expect(await compare(names)).toEqual([]);
});

test("an older table gets its indexes, and records that it has are found by them", async () => {
  const prefix = newPrefix();
  const names = tableName(prefix);
  await createTables(client, olderDefinitions(names));
  expect(await compare(names)).toEqual(oldLines(names));
  const server = await startServer({ tablePrefix: prefix, testClock: false });
  onTestFinished(() => server.stop());
  await setupProgram(server.deps);
  const ids = ["a", "b", "c"];
  const executeTime = { seconds: BigInt(Math.floor(Date.now() / 1_000) + 3_600), nanos: 0 };
  for (const reservationId of ids) {
    const reservation = { reservationId, userId: "ann", points: 5n, executeTime };
    await server.reservations.createReservation(reservation);
  }
  const list = () =>
    server.reservations.listReservations({ filter: { case: "userId", value: "ann" } });
  await expect(list()).rejects.toThrow();

  await setUpTables(prefix, quiet);
  expect(await compare(names)).toEqual([]);
  const { reservations } = await list();
  expect(reservations.map(({ reservationId }) => reservationId)).toEqual(ids);
});

test("two setups at once add the indexes, also after one that was stopped", async () => {
  const names = tableName(newPrefix());
  await createTables(client, olderDefinitions(names));
  const definitions = localTableDefinitions(names);
  const stopping = Object.create(client, {
    send: {
      value: async (command: UpdateTableCommand) => {
        const answer = await client.send(command);
        if (command instanceof UpdateTableCommand) throw new Error("stopped");
        return answer;
      },
    },
  });
  await expect(manageTables(stopping, definitions, options)).rejects.toThrow("stopped");
  const both = [1, 2].map(() => manageTables(client, definitions, options));
  expect(await Promise.all(both)).toEqual([[], []]);
  expect(await compare(names)).toEqual([]);
});

test("what it cannot or shall not change is left as it is, and named", async () => {
  const prefix = newPrefix();
  const names = tableName(prefix);
  const wanted = tableDefinitions(names);
  const others = localTableDefinitions(names).filter(
    ({ create }) => create.TableName !== names("points"),
  );
  await createTables(client, others);
  await client.send(
    new CreateTableCommand({
      TableName: names("points"),
      BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    }),
  );
  const key = `${names("points")}: the key is HASH pk (S), and should be HASH pk (S), RANGE sk (S)`;
  const lines = (await manageTables(client, wanted, options)).map(lineOf);
  expect(lines).toContain(key);
  const rest = lines.filter((line) => line !== key);
  // DynamoDB Local does not know point-in-time recovery.
  const named = wanted.map(
    ({ create: { TableName } }) => `${TableName}: deletion protection is off, and should be on`,
  );
  const stream = `${names("points")}: the stream is off, and should be NEW_AND_OLD_IMAGES`;
  expect(rest.toSorted()).toEqual([...named, stream].toSorted());
  const first = "the tables are not as this version needs them; docs/run/tables.md says what to do";
  await expect(setUpTables(prefix, quiet)).rejects.toThrow(new OperatorError(`${first}\n  ${key}`));
});

test("an index of somebody else stays, and is named in the log", async () => {
  const prefix = newPrefix();
  const names = tableName(prefix);
  await createTables(client, localTableDefinitions(names));
  const KeySchema = [{ AttributeName: "xp", KeyType: "HASH" as const }];
  const Create = { IndexName: "report", KeySchema, Projection: { ProjectionType: "ALL" as const } };
  await client.send(
    new UpdateTableCommand({
      TableName: names("points"),
      AttributeDefinitions: [{ AttributeName: "xp", AttributeType: "S" }],
      GlobalSecondaryIndexUpdates: [{ Create }],
    }),
  );
  const warn = vi.fn();
  await eventually(async () => {
    warn.mockClear();
    await setUpTables(prefix, Object.assign(createLogger("test", "silent"), { warn }));
    const is = "global, HASH xp (S), projection ALL";
    const line = `${names("points")}: the index report is ${is}, and should be absent`;
    expect(warn.mock.calls).toEqual([[line]]);
  });
});

test("with MEGURI_MANAGE_TABLES=0 the setup names what is missing and writes nothing", async () => {
  const prefix = newPrefix();
  const names = tableName(prefix);
  await createTables(client, olderDefinitions(names));
  await client.send(new DeleteTableCommand({ TableName: names("bulk") }));
  const lines = [...oldLines(names)];
  lines.splice(2, 0, `${names("bulk")}: the table is missing, and should be there`);
  const { code, out, err } = await runSetup({
    MEGURI_TABLE_PREFIX: prefix,
    MEGURI_MANAGE_TABLES: "0",
  });
  expect(code).toBe(1);
  // The setup compares tables and namespace first, and here is no Temporal.
  const others = out.split("\n").filter((line) => !line.includes("Temporal does not answer"));
  expect(others).toEqual([""]);
  const [first, ...named] = err.trimEnd().split("\n  ");
  expect(first).toContain("the tables are not as this version needs them");
  expect(named).toEqual(lines);
  expect(await compare(names)).toEqual(lines);
  await createTables(client, localTableDefinitions(names).slice(3, 4));
});
