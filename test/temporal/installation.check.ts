/** Tests that tables and a namespace of different installations are refused by all processes. */

import { randomUUID } from "node:crypto";
import { GetItemCommand, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { doctor } from "../../src/ops/doctor.ts";
import { setupTables } from "../../src/ops/setup.ts";
import { type Clients, createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { runToEnd } from "../../tools/dev/stack/service.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { runAs } from "../support/deploy/run-as.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { putItems } from "../support/stores/copy-table.ts";
import { deleteTables } from "../support/stores/delete-tables.ts";

/** The tables of the namespace, missing ones, and others with and without the same id. */
const [own, missing, other, restored] = ["own", "missing", "other", "restored"].map(
  (name) => `${name}-${randomUUID()}-`,
) as [string, string, string, string];
const endpoint = inject("dynamodbEndpoint");
let temporal: Temporal;
let clients: Clients;
beforeAll(async () => {
  temporal = await startTemporal({ ignoreRunning: true });
  clients = createClients({ endpoint, region: "local" });
  await run("setup", own);
  for (const prefix of [other, restored]) await createEmptyTables(prefix);
});
afterAll(async () => {
  for (const prefix of [own, other, restored]) {
    await deleteTables(clients.retrying, tableName(prefix));
  }
  clients?.close();
  await temporal?.stop();
});

const createEmptyTables = (tablePrefix: string) =>
  runAs("setup", tablePrefix, () =>
    setupTables(
      { dynamoEndpoint: endpoint, region: "local", tablePrefix, manageTables: true },
      createLogger("test", "silent"),
    ),
  );

const envOf = (tablePrefix: string) => ({
  MEGURI_DYNAMODB_ENDPOINT: endpoint,
  AWS_REGION: "local",
  MEGURI_TABLE_PREFIX: tablePrefix,
  MEGURI_TEMPORAL_ADDRESS: temporal.address,
  MEGURI_TEMPORAL_NAMESPACE: temporal.namespace,
});

/** Runs a process that is to end by itself. */
function run(name: "setup" | "server" | "worker", tablePrefix: string): Promise<unknown> {
  const entry = name === "setup" ? "src/ops/setup.ts" : `src/${name}.ts`;
  const ports = { MEGURI_PORT: "0", MEGURI_HTTP1_PORT: "0", MEGURI_OPERATORS_PORT: "0" };
  const ofWorker = {
    MEGURI_METRICS_PORT: "0",
    MEGURI_WORKFLOW_BUNDLE: inject("workflowBundle"),
  };
  return runToEnd({ name, entry, env: { ...envOf(tablePrefix), ...ports, ...ofWorker } });
}

/** What the doctor says of the installation. */
async function diagnosed(tablePrefix: string): Promise<string | undefined> {
  const lines: string[] = [];
  const run = () => doctor([], envOf(tablePrefix), (line) => lines.push(line));
  await runAs("server", tablePrefix, run);
  return lines.find((line) => line.includes("installation: "));
}

const refusal = /the namespace default belongs to the installation [\w-]+, and the tables to none/;

test("a setup under a wrong prefix creates no tables", async () => {
  const why = "whose tables are not there. Correct MEGURI_TABLE_PREFIX";
  await expect(run("setup", missing)).rejects.toThrow(why);
  const { TableNames } = await clients.retrying.send(new ListTablesCommand({}));
  expect(TableNames?.filter((name) => name.startsWith(missing))).toEqual([]);
});

test.each(["setup", "server", "worker"] as const)(
  "a %s with the tables of another installation ends, and says why",
  async (name) => {
    await expect(run(name, other)).rejects.toThrow(refusal);
  },
);

test("the doctor says whether tables and namespace belong together", async () => {
  expect(await diagnosed(other)).toMatch(/^FAILED .*belongs to the installation .* to none\. Corr/);
  expect(await diagnosed(own)).toMatch(/^ok .*tables and namespace are those of [\w-]{36}$/);
});

test("restored tables have the id of their installation under any prefix", async () => {
  const Key = { pk: { S: "I" }, sk: { S: "I" } };
  const get = new GetItemCommand({ TableName: tableName(own)("points"), Key });
  const { Item = {} } = await clients.retrying.send(get);
  await putItems(clients.retrying, tableName(restored)("points"), [Item]);
  // The doctor waits a few seconds for Temporal, which a busy machine may need.
  await eventually(async () => expect(await diagnosed(restored)).toMatch(/^ok .*are those of/));
  await eventually(async () => expect(await diagnosed(own)).toMatch(/^ok .*are those of/));
  await run("setup", restored);
});
