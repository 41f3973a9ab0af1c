/**
 * Servers and workers as processes of their own, whose version is replaced one by one, over tables
 * and a Temporal namespace of their own.
 */
import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { inject } from "vitest";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import type { Child } from "../../../tools/dev/stack/child.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { runToEnd, startService } from "../../../tools/dev/stack/service.ts";
import { eventually } from "../fixtures/waiting.ts";
import { deleteTables } from "../stores/delete-tables.ts";
import type { Version } from "./versions.ts";

export interface Fleet {
  /** The addresses of the servers, which stay. */
  readonly urls: readonly string[];
  readonly temporal: Client;
  setUp(version: Version): Promise<void>;
  /** Stops each worker and starts one of the version in its place, one after the other. */
  replaceWorkers(version: Version): Promise<void>;
  /** Does the same with the servers, which keep their ports. */
  replaceServers(version: Version): Promise<void>;
  stop(): Promise<void>;
}

/** Sets up a version, and starts so many servers and workers of it. */
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
  const setUp = ({ root }: Version) =>
    runToEnd({ name: "setup", entry: "src/ops/setup.ts", root, env });
  const servers: Child[] = [];
  const workers: Child[] = [];

  const stop = async () => {
    await Promise.all([...servers, ...workers].map((child) => child.stop()));
    await connection.operatorService.deleteNamespace({ namespace });
    await connection.close();
    const clients = createClients({
      endpoint: env.MEGURI_DYNAMODB_ENDPOINT,
      region: env.AWS_REGION,
    });
    await deleteTables(clients.retrying, tableName(env.MEGURI_TABLE_PREFIX));
    clients.close();
  };
  try {
    await eventually(() => setUp(version));
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
