/**
 * Servers, workers and an events process as processes of their own, whose version is replaced one
 * by one, over tables and a Temporal namespace of their own.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type DynamoDBClient, UpdateTableCommand } from "@aws-sdk/client-dynamodb";
import { Client, Connection } from "@temporalio/client";
import { inject } from "vitest";
import { streamedTables } from "../../../src/events/ports/changes.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { type TableName, tableName } from "../../../src/platform/dynamodb/tables.ts";
import type { Child } from "../../../tools/dev/stack/child.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { runToEnd, startService } from "../../../tools/dev/stack/service.ts";
import { readTables, type Tables } from "../events/tables.ts";
import { eventually } from "../fixtures/waiting.ts";
import { deleteTables } from "../stores/delete-tables.ts";
import { itemsOf } from "../stores/dump.ts";
import type { Version } from "./versions.ts";

export interface Fleet {
  /** The addresses of the servers, which stay. */
  readonly urls: readonly string[];
  readonly temporal: Client;
  setUp(version: Version): Promise<void>;
  /** Stops the events process and starts one of the version, if the version has any. */
  replaceEvents(version: Version): Promise<void>;
  /** Stops each worker and starts one of the version in its place, one after the other. */
  replaceWorkers(version: Version): Promise<void>;
  /** Does the same with the servers, which keep their ports. */
  replaceServers(version: Version): Promise<void>;
  /** What a consumer of events has to know. */
  readTables(): Promise<Tables>;
  stop(): Promise<void>;
}

/** Sets up a version, and starts so many servers and workers of it, and its events process. */
export async function startFleet(version: Version, count: number): Promise<Fleet> {
  const id = randomUUID().slice(0, 8);
  const env = environment(id);
  const connection = await Connection.connect({ address: env.MEGURI_TEMPORAL_ADDRESS });
  const namespace = env.MEGURI_TEMPORAL_NAMESPACE;
  await connection.workflowService.registerNamespace({
    namespace,
    // A number: the generated types want a `Long`, but the encoder accepts both.
    workflowExecutionRetentionPeriod: { seconds: 86_400 as unknown as null },
  });
  const ports = await Promise.all(Array.from({ length: count }, () => findPorts(0, 0)));
  const startServer = ([port, http1Port]: readonly number[], { root }: Version) =>
    startService({
      ...{ name: "server", entry: "src/server.ts", root },
      env: { ...env, MEGURI_PORT: String(port), MEGURI_HTTP1_PORT: String(http1Port) },
    });
  const startWorker = ({ name, root, bundle }: Version) =>
    startService({
      ...{ name: "worker", entry: "src/worker.ts", root },
      env: { ...env, MEGURI_BUILD_ID: name, MEGURI_WORKFLOW_BUNDLE: bundle },
    });
  const startEvents = async ({ root }: Version) => {
    if (!hasEvents(root)) return undefined;
    const [port] = await findPorts(0);
    const own = { ...env, MEGURI_EVENTS_PORT: String(port) };
    return startService({ name: "events", entry: "src/events.ts", root, env: own });
  };
  const setUp = ({ root }: Version) =>
    runToEnd({ name: "setup", entry: "src/ops/setup.ts", root, env });
  const servers: Child[] = [];
  const workers: Child[] = [];
  let events: Child | undefined;
  const clients = createClients({
    endpoint: env.MEGURI_DYNAMODB_ENDPOINT,
    region: env.AWS_REGION,
  });
  const table = tableName(env.MEGURI_TABLE_PREFIX);

  const stop = async () => {
    await Promise.all([...servers, ...workers, events].map((child) => child?.stop()));
    await connection.operatorService.deleteNamespace({ namespace });
    await connection.close();
    await deleteTables(clients.retrying, table);
    clients.close();
  };
  try {
    await eventually(() => setUp(version));
    if (!hasEvents(version.root)) await switchStreamsOn(clients.retrying, table);
    events = await startEvents(version);
    for (const each of ports) servers.push(await startServer(each, version));
    while (workers.length < count) workers.push(await startWorker(version));
  } catch (error) {
    // There may be no tables to delete yet: what matters is why it did not start.
    await stop().catch(() => {});
    throw error;
  }
  return {
    urls: ports.map(([port]) => `http://127.0.0.1:${port}`),
    temporal: new Client({ connection, namespace }),
    setUp,
    readTables: () => readTables((each) => itemsOf(clients.retrying, table(each))),
    async replaceEvents(next) {
      await events?.stop();
      events = await startEvents(next);
    },
    async replaceWorkers(next) {
      for (const i of workers.keys()) {
        await workers[i]?.stop();
        workers[i] = await startWorker(next);
      }
    },
    async replaceServers(next) {
      for (const [i, each] of ports.entries()) {
        await servers[i]?.stop();
        // A connection of another process may have its port by now, mostly for a short time.
        servers[i] = await eventually(() => startServer(each, next));
      }
    },
    stop,
  };
}

const hasEvents = (root: string): boolean => existsSync(join(root, "src/events.ts"));

/**
 * Gives the tables the streams that all have on AWS. The setup of a version without events
 * processes makes none on an emulator.
 */
async function switchStreamsOn(client: DynamoDBClient, table: TableName): Promise<void> {
  const StreamSpecification = {
    StreamEnabled: true,
    StreamViewType: "NEW_AND_OLD_IMAGES",
  } as const;
  for (const each of streamedTables) {
    await client.send(new UpdateTableCommand({ TableName: table(each), StreamSpecification }));
  }
}

/**
 * Variables that both versions know; each refuses those that it does not. What the developer has
 * set for one of them is emptied, which is as if it were not set.
 */
function environment(id: string) {
  const inherited = Object.keys(process.env).filter((name) => name.startsWith("MEGURI_"));
  return {
    ...Object.fromEntries(inherited.map((name) => [name, ""])),
    MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"),
    MEGURI_TABLE_PREFIX: `t-${id}-`,
    MEGURI_TEMPORAL_ADDRESS: inject("temporalAddress"),
    MEGURI_TEMPORAL_NAMESPACE: `t-${id}`,
    MEGURI_TASK_QUEUE: `t-${id}`,
    MEGURI_OPERATORS_PORT: "0",
    MEGURI_METRICS_PORT: "0",
    MEGURI_DRAIN_SECONDS: "3",
    // So slow that sheets run while workers are replaced.
    MEGURI_BULK_ROWS_PER_SECOND: "5",
    MEGURI_LOG_LEVEL: "warn",
    AWS_REGION: "local",
  };
}
