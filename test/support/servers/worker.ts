/**
 * Everything that a test of workflows needs: tables and a Temporal namespace of its own, the use
 * cases on them, and real workers, in this process or as children.
 */
import { randomUUID } from "node:crypto";
import type { Client } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import { inject } from "vitest";
import { readSourceDefinitions } from "../../../src/bulk-grants/sources/definitions.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { localTableDefinitions } from "../../../src/ops/tables/definitions.ts";
import { createTables } from "../../../src/ops/tables/manage-tables.ts";
import { type Config, readConfig } from "../../../src/platform/config/config.ts";
import { type Clients, createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { ensureSearchAttributes } from "../../../src/platform/temporal/search-attributes.ts";
import { createProgram } from "../../../src/points/use-cases/programs/commands.ts";
import type { TemporalWorkflows } from "../../../src/temporal/temporal-workflows.ts";
import { createWorkflows } from "../../../src/temporal/workflows.ts";
import { createMetrics, type Metrics } from "../../../src/worker/metrics.ts";
import { installSdk } from "../../../src/worker/sdk.ts";
import { createWorker } from "../../../src/worker.ts";
import type { Child } from "../../../tools/dev/stack/child.ts";
import { startService } from "../../../tools/dev/stack/service.ts";
import { type DynamoProxy, startDynamoProxy } from "../../../tools/dynamo-proxy/proxy.ts";
import { composeAs } from "../deploy/compose-as.ts";
import { enforceRules } from "../fixtures/bulk-rules.ts";
import { patientDeps } from "../fixtures/waiting.ts";
import { deleteTables } from "../stores/delete-tables.ts";
import { createMemoryTables, type MemoryClients } from "../stores/memory-clients.ts";
import { noWorkflows } from "./no-workflows.ts";

export interface WorkerStack {
  /** The dependencies of a server. */
  readonly deps: WorkerDeps;
  readonly workflows: TemporalWorkflows;
  readonly client: Client;
  /** The id of a program that exists. */
  readonly programId: string;
  /** The proxy between the store and every worker. Throws unless the stack has one. */
  readonly proxy: DynamoProxy;
  /** Cuts the connection between the store and the workers of this process, or restores it. */
  storeDown(isDown: boolean): void;
  /** The metrics of the workers in this process. */
  readonly metrics: Metrics;
  readonly clients: Clients;
  readonly config: Config;
  /** Starts a worker in this process and returns how to stop it. */
  startWorker(): Promise<() => Promise<void>>;
  /** Starts `src/worker.ts`, as production does. */
  startWorkerProcess(env?: Readonly<Record<string, string>>): Promise<Child>;
  /** Starts a server in a process of its own, on the ports of these variables. */
  startServerProcess(env: Readonly<Record<string, string>>): Promise<Child>;
  /** Starts an events process of its own, on the port of these variables. */
  startEventsProcess(env: Readonly<Record<string, string>>): Promise<Child>;
  /** Stops the workers of this process and deletes namespace and tables. */
  stop(): Promise<void>;
}

export interface WorkerStackOptions {
  /** `host:port` of another Temporal than the run's, whose namespace `default` is used. */
  readonly temporalAddress?: string;
  /** The id of its program. A random one when left out. */
  readonly programId?: string;
  /** Whether a worker starts in this process. True when left out. */
  readonly worker?: boolean;
  readonly timeZone?: string;
  readonly lifetime?: number;
  readonly testClock?: boolean;
  /**
   * Where the tables are: in the memory of this process, or in the run's DynamoDB Local. Processes
   * reach only the latter, and workers through the fault proxy if they shall. Memory by default.
   */
  readonly store?: "memory" | "dynamodb" | "proxied dynamodb";
  /** More variables of the configuration, of the server and of the workers. */
  readonly env?: Readonly<Record<string, string>>;
}

const quiet = createLogger("test", process.env.MEGURI_LOG_LEVEL ?? "silent");

let sdkLogInstalled = false;

/** The bundle of the workflows, which the global set-up has made. */
export function workflowBundle(): { readonly codePath: string } {
  silenceSdk();
  return { codePath: inject("workflowBundle") };
}

/** Installs the SDK's log once, before its first connection. */
function silenceSdk(): void {
  if (!sdkLogInstalled) installSdk(quiet);
  sdkLogInstalled = true;
}

export async function startWorkerStack(options: WorkerStackOptions = {}): Promise<WorkerStack> {
  silenceSdk();
  const id = randomUUID().slice(0, 8);
  const own = options.temporalAddress === undefined;
  const env = {
    MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"),
    MEGURI_DYNAMODB_TRANSPORT: inject("dynamoTransport"),
    MEGURI_TABLE_PREFIX: `t-${id}-`,
    MEGURI_TEMPORAL_ADDRESS: options.temporalAddress ?? inject("temporalAddress"),
    MEGURI_TEMPORAL_NAMESPACE: own ? `t-${id}` : "default",
    MEGURI_TASK_QUEUE: `t-${id}`,
    MEGURI_METRICS_PORT: "0",
    MEGURI_DRAIN_SECONDS: "3",
    MEGURI_TEST_CLOCK: options.testClock ? "1" : "0",
    AWS_REGION: "local",
    ...options.env,
  };
  const config = readConfig(env, "worker");
  const store = await openStore(config, options.store ?? "memory");
  const workflows = connect(config);
  if (own) await registerNamespace(workflows);
  await ensureSearchAttributes(workflows.link.connection, config.temporalNamespace);
  const clients = store.connect();
  const server = composeAs(["server", "worker"], config, workflows, quiet, clients);
  const deps = patientDeps(server.deps, own ? ["workflows"] : []);
  const { programId = `p-${id}`, timeZone = "Asia/Tokyo", lifetime = 12 } = options;
  await createProgram(
    { ...deps, background: () => {} },
    { programId, timeZone, lifetimeMonths: lifetime },
  );
  const sources = readSourceDefinitions(config.bulkSources).map(({ name }) => name);
  if (sources.length > 0) await enforceRules(deps, programId, { sources });
  const processEnv = { ...env, MEGURI_DYNAMODB_ENDPOINT: store.endpointOfWorkers };
  const metrics = createMetrics();
  const running = new Set<() => Promise<void>>();

  async function startWorker(): Promise<() => Promise<void>> {
    const stop = await runWorker(config, metrics, store.connectWorker());
    running.add(stop);
    return async () => {
      running.delete(stop);
      await stop();
    };
  }
  if (options.worker !== false) await startWorker();
  return {
    deps,
    workflows,
    client: workflows.link.client,
    programId,
    get proxy() {
      if (!store.proxy) throw new Error("this stack has no proxy");
      return store.proxy;
    },
    storeDown: store.down,
    metrics,
    clients,
    config,
    startWorker,
    startWorkerProcess: (more) =>
      startService({
        name: "worker",
        entry: "src/worker.ts",
        env: { ...processEnv, MEGURI_WORKFLOW_BUNDLE: inject("workflowBundle"), ...more },
      }),
    startServerProcess: (more) =>
      startService({ name: "server", entry: "src/server.ts", env: { ...processEnv, ...more } }),
    startEventsProcess: (more) =>
      startService({ name: "events", entry: "src/events.ts", env: { ...processEnv, ...more } }),
    async stop() {
      store.proxy?.faults({});
      store.down(false);
      await Promise.all([...running].map((stop) => stop()));
      await server.close();
      if (own) await deleteNamespace(workflows);
      await workflows.close();
      await store.close();
    },
  };
}

/** The tables of a stack, and who reaches them how. */
interface Store {
  /** Clients of the server and of the test, which no fault concerns. */
  connect(): Clients;
  /** Clients of a worker in this process. */
  connectWorker(): Clients;
  /** The endpoint of DynamoDB for workers that are processes. */
  readonly endpointOfWorkers: string;
  readonly proxy?: DynamoProxy;
  down(isDown: boolean): void;
  close(): Promise<void>;
}

function openStore(config: Config, kind: NonNullable<WorkerStackOptions["store"]>): Promise<Store> {
  return kind === "memory" ? openMemory(config) : openDynamo(config, kind === "proxied dynamodb");
}

async function openMemory({ tablePrefix }: Config): Promise<Store> {
  const tables = createMemoryTables(tablePrefix);
  const ofWorkers: MemoryClients[] = [];
  return {
    connect: tables.connect,
    connectWorker() {
      const clients = tables.connect();
      ofWorkers.push(clients);
      return clients;
    },
    endpointOfWorkers: "http://a-process-cannot-reach-the-memory-of-its-test.invalid",
    down(isDown) {
      for (const clients of ofWorkers) clients.down(isDown);
    },
    close: async () => void tables.delete(),
  };
}

async function openDynamo(config: Config, isProxied: boolean): Promise<Store> {
  const { dynamoEndpoint: endpoint = "", region, dynamoTransport: transport } = config;
  const proxy = isProxied ? await startDynamoProxy({ upstream: endpoint }) : undefined;
  const clients = createClients({ endpoint, region });
  const names = tableName(config.tablePrefix);
  await createTables(clients.retrying, localTableDefinitions(names));
  const endpointOfWorkers = proxy?.endpoint ?? endpoint;
  return {
    connect: () => createClients({ endpoint, region, transport }),
    connectWorker: () => createClients({ endpoint: endpointOfWorkers, region, transport }),
    endpointOfWorkers,
    ...(proxy && { proxy }),
    down: (isDown) => proxy?.down(isDown),
    async close() {
      await proxy?.stop();
      await deleteTables(clients.retrying, names);
      clients.close();
    },
  };
}

/** Dependencies whose calls to Temporal are lost, so that no row is confirmed as synced. */
export const withoutTemporal = (deps: WorkerDeps): WorkerDeps => ({
  ...deps,
  workflows: noWorkflows,
  background: () => {},
});

const connect = ({ temporalAddress: address, temporalNamespace: namespace, taskQueue }: Config) =>
  createWorkflows({ address, namespace, taskQueue, log: quiet });

async function runWorker(
  config: Config,
  metrics: Metrics,
  clients: Clients,
): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const workflows = connect(config);
  const { deps, close } = composeAs(["worker"], config, workflows, quiet, clients);
  const worker = await createWorker({
    connection,
    config,
    bundle: workflowBundle(),
    deps,
    metrics,
    log: quiet,
  });
  const done = worker.run();
  return async () => {
    worker.shutdown();
    await done;
    await close();
    await workflows.close();
    await connection.close();
  };
}

/** A number: the generated types want a `Long`, but the encoder accepts both. */
const day = 86_400 as unknown as null;

async function registerNamespace({ link }: TemporalWorkflows): Promise<void> {
  await link.connection.workflowService.registerNamespace({
    namespace: link.namespace,
    workflowExecutionRetentionPeriod: { seconds: day },
  });
}

/** Temporal deletes the workflows and schedules of the namespace with it. */
async function deleteNamespace({ link }: TemporalWorkflows): Promise<void> {
  await link.connection.operatorService.deleteNamespace({ namespace: link.namespace });
}
