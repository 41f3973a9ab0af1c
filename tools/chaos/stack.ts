/**
 * The stack of a run: DynamoDB Local, Temporal with a database file, and two servers, two workers
 * and two events processes as production starts them. Each reaches the store and Temporal through
 * connections that faults cut.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { compose } from "../../src/compose.ts";
import { writerTiming } from "../../src/events/runtime/keep-writing.ts";
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
import { itemsOf } from "../../test/support/stores/dump.ts";
import { startDynamoDbLocal } from "../dev/stack/dynamodb-local.ts";
import { findPorts } from "../dev/stack/free-port.ts";
import { startTemporal } from "../dev/stack/temporal-dev-server.ts";
import type { Server } from "./calls.ts";
import type { Begin, Faults } from "./faults.ts";
import { cutting, faultsOf, silencing } from "./links.ts";
import { type Observer, type Process, startProcess } from "./processes.ts";
import { addresses, type Listener, type Service, startServices } from "./services.ts";

export interface Stack {
  readonly servers: readonly Server[];
  readonly faults: Faults;
  /** The servers and the events processes, which answer while nothing is wrong with them. */
  readonly listeners: readonly Listener[];
  /** The use cases of this process, which reach the store whatever faults do. */
  readonly deps: Deps;
  itemsOf(table: Table): Promise<Item[]>;
  /** The requests of the processes that deploy/policies do not allow. */
  denied(): string[];
  /** Lets workers end what they do. Nothing changes records any more then. */
  drainWorkers(): Promise<void>;
  /** Lets all processes end what they do. */
  drain(): Promise<void>;
  /** Kills everything, and removes what is left. */
  stop(): Promise<void>;
}

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
  const config = readConfig({ ...variables, ...addresses(dynamo.port, temporalPort) }, "setup");
  await setup(config, quiet);
  const bundle = join(folder, "workflows.js");
  await writeFile(bundle, (await bundleWorkflows()).code);
  const { deps, close } = compose(config, noWorkflows, quiet);
  const clients = createClients({ endpoint: dynamo.endpoint, region: config.region });
  ends.push(close, clients.close);
  stopped.throwIfAborted();

  const denied = join(folder, "denied");
  const { servers, workers, events } = await startServices({
    ...{ ends, observer, bundle, storePort: dynamo.port, temporalPort },
    variables: { ...variables, ...guardedBy(denied) },
  });
  // By this order, a seed plans its faults.
  const services = [...servers, ...workers, ...events];
  const table = tableName(config.tablePrefix);
  const stopAll = (some: readonly Service[]) =>
    Promise.all(some.map(({ process }) => process.stop()));
  return {
    servers: servers.map(({ server }) => server),
    faults: allFaults(services, { store, temporal }),
    listeners: [...servers, ...events],
    deps,
    itemsOf: (name) => itemsOf(clients.retrying, table(name)),
    denied: () => deniedIn(denied),
    drainWorkers: async () => void (await stopAll(workers)),
    drain: async () => void (await stopAll(services)),
  };
}

/** DynamoDB Local loses an acknowledged transaction when it is killed, so it is not. */
function allFaults(
  services: readonly Service[],
  { store, temporal }: Readonly<Record<"store" | "temporal", Process>>,
): Faults {
  const toStore = services.map(({ links }) => links.store);
  const toTemporal = services.flatMap(({ links }) => links.temporal ?? []);
  const { stopped } = store.faults;
  const faultsOfService = ({ name, process, links }: Service): Faults[string] => ({
    ...process.faults,
    ...faultsOf(links),
    ...(name.startsWith("events") && { "stopped beyond its lease": beyondLease(process) }),
  });
  return {
    ...Object.fromEntries(services.map((each) => [each.name, faultsOfService(each)])),
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

/** A fault in which another process takes over from one that stands still, and goes on later. */
const beyondLease =
  ({ faults }: Process): Begin =>
  async () => {
    const goOn = await faults.stopped?.();
    return async () => {
      await sleep(writerTiming.deadMs + writerTiming.heartbeatMs);
      await goOn?.();
    };
  };

const variables = {
  MEGURI_TABLE_PREFIX: "chaos-",
  MEGURI_OPERATORS_PORT: "0",
  MEGURI_METRICS_PORT: "0",
  MEGURI_DRAIN_SECONDS: "10",
  MEGURI_LOG_LEVEL: "error",
  // So slow that faults meet bulk grants while they run.
  MEGURI_BULK_ROWS_PER_SECOND: "20",
};
