/**
 * The stack of a run: DynamoDB Local, Temporal with a database file, and two servers and two
 * workers as production starts them. Each reaches both through connections that faults cut.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Http2SessionManager } from "@connectrpc/connect-node";
import { compose } from "../../src/compose.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { setup } from "../../src/ops/setup.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import type { Item } from "../../src/platform/dynamodb/sdk/attributes.ts";
import { createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { type Table, tableName } from "../../src/platform/dynamodb/tables.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { bundleWorkflows } from "../../src/worker/bundle.ts";
import { deniedIn, guardedBy } from "../../test/support/deploy/guarded.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";
import { connect } from "../../test/support/servers/server.ts";
import { itemsOf } from "../../test/support/stores/dump.ts";
import { startDynamoDbLocal } from "../dev/stack/dynamodb-local.ts";
import { findPorts } from "../dev/stack/free-port.ts";
import { startService } from "../dev/stack/service.ts";
import { startTemporal } from "../dev/stack/temporal-dev-server.ts";
import type { Server } from "./calls.ts";
import type { Faults } from "./faults.ts";
import { cutting, faultsOf, type Links, silencing, startLinks } from "./links.ts";
import { type Observer, type Process, startProcess } from "./processes.ts";

export interface Stack {
  readonly servers: readonly Server[];
  readonly faults: Faults;
  /** The use cases of this process, which reach the store whatever faults do. */
  readonly deps: Deps;
  itemsOf(table: Table): Promise<Item[]>;
  /** The requests of servers and workers that deploy/policies do not allow. */
  denied(): string[];
  /** Lets servers and workers end what they do. */
  drain(): Promise<void>;
  /** Kills everything, and removes what is left. */
  stop(): Promise<void>;
}

/** A call of a client ends after this long; a server that stands still may go on with it later. */
const callTimeoutMs = 5_000;

const quiet = createLogger("chaos", "silent");

/** Starts everything, until it is stopped. */
export async function startStack(observer: Observer, stopped: AbortSignal): Promise<Stack> {
  const ends: (() => unknown)[] = [];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    return { ...(await start(ends, observer, stopped)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts everything, and adds to `ends` how each part ends. */
async function start(
  ends: (() => unknown)[],
  observer: Observer,
  stopped: AbortSignal,
): Promise<Omit<Stack, "stop">> {
  const folder = await mkdtemp(join(tmpdir(), "meguri-chaos-"));
  ends.push(() => rm(folder, { recursive: true, maxRetries: 5 }));
  const dynamo = await startDynamoDbLocal();
  const store = await startProcess("the store", async () => dynamo, observer, {
    // It keeps all in memory.
    startsAgain: false,
  });
  ends.push(store.kill);
  stopped.throwIfAborted();
  const [temporalPort] = await findPorts(0);
  const dataFile = join(folder, "temporal.db");
  const startOneTemporal = async () => {
    const started = await startTemporal({ ignoreRunning: true, port: temporalPort, dataFile });
    return { ...started, pid: started.pid as number };
  };
  const temporal = await startProcess("Temporal", startOneTemporal, observer);
  ends.push(temporal.kill);
  stopped.throwIfAborted();
  const env = environment(dynamo.endpoint, `127.0.0.1:${temporalPort}`);
  const config = readConfig(env, "setup");
  await setup(config, quiet);
  const bundle = join(folder, "workflows.js");
  await writeFile(bundle, (await bundleWorkflows()).code);
  const { deps, close } = compose(config, noWorkflows, quiet);
  const clients = createClients({ endpoint: dynamo.endpoint, region: config.region });
  ends.push(close, clients.close);
  stopped.throwIfAborted();

  const denied = join(folder, "denied");
  const guard = guardedBy(denied);
  const startOne = async (name: string, entry: string, own: Environment): Promise<Service> => {
    const links = await startLinks(dynamo.port, temporalPort);
    ends.push(links.store.stop, links.temporal.stop);
    const linked = environment(
      `http://127.0.0.1:${links.store.port}`,
      `127.0.0.1:${links.temporal.port}`,
    );
    const options = { name, entry, env: { ...linked, ...own, ...guard } };
    const process = await startProcess(name, () => startService(options), observer);
    ends.push(process.kill);
    return { name, process, links };
  };
  const ports = await findPorts(0, 0, 0, 0);
  const servers = [ports.slice(0, 2), ports.slice(2)].map(([port = 0, http1Port = 0], i) => {
    const sessions = new Http2SessionManager(`http://127.0.0.1:${port}`);
    ends.push(() => sessions.abort());
    const own = { MEGURI_PORT: `${port}`, MEGURI_HTTP1_PORT: `${http1Port}` };
    return {
      started: startOne(`server ${i + 1}`, "src/server.ts", own),
      server: (caller: string) => connect(sessions, port, caller, callTimeoutMs),
    };
  });
  const workers = [1, 2].map((i) =>
    startOne(`worker ${i}`, "src/worker.ts", { MEGURI_WORKFLOW_BUNDLE: bundle }),
  );
  // In this order, whoever is ready first: by it, a seed plans its faults.
  const services = await Promise.all([...servers.map(({ started }) => started), ...workers]);
  const table = tableName(config.tablePrefix);
  return {
    servers: servers.map(({ server }) => server),
    faults: allFaults(services, { store, temporal }),
    deps,
    itemsOf: (name) => itemsOf(clients.retrying, table(name)),
    denied: () => deniedIn(denied),
    drain: async () => {
      await Promise.all(services.map(({ process }) => process.stop()));
    },
  };
}

type Environment = Readonly<Record<string, string>>;

/** A server or a worker. */
interface Service {
  readonly name: string;
  readonly process: Process;
  readonly links: Links;
}

/** DynamoDB Local loses an acknowledged transaction when it is killed, so it is not. */
function allFaults(
  services: readonly Service[],
  { store, temporal }: Readonly<Record<"store" | "temporal", Process>>,
): Faults {
  const toStore = services.map(({ links }) => links.store);
  const toTemporal = services.map(({ links }) => links.temporal);
  const { stopped } = store.faults;
  return {
    ...Object.fromEntries(
      services.map(({ name, process, links }) => [name, { ...process.faults, ...faultsOf(links) }]),
    ),
    "the store": {
      ...(stopped && { stopped }),
      "cut off": cutting(toStore),
      "without an answer": silencing(toStore),
    },
    Temporal: {
      ...temporal.faults,
      "cut off": cutting(toTemporal),
      "without an answer": silencing(toTemporal),
    },
  };
}

const environment = (dynamoEndpoint: string, temporalAddress: string): Environment => ({
  MEGURI_DYNAMODB_ENDPOINT: dynamoEndpoint,
  MEGURI_TEMPORAL_ADDRESS: temporalAddress,
  MEGURI_TABLE_PREFIX: "chaos-",
  MEGURI_OPERATORS_PORT: "0",
  MEGURI_METRICS_PORT: "0",
  MEGURI_DRAIN_SECONDS: "10",
  MEGURI_LOG_LEVEL: "error",
  // So slow that faults meet bulk grants while they run.
  MEGURI_BULK_ROWS_PER_SECOND: "20",
});
