/** Starts what is attacked: a server process that verifies tokens, with a probe inside. */

import type { EventLog } from "../../../src/events/ports/log.ts";
import { createEventLog } from "../../../src/events/store/event-log.ts";
import { setupProgram, setupTables } from "../../../src/ops/setup.ts";
import { readConfig } from "../../../src/platform/config/config.ts";
import { createClients } from "../../../src/platform/dynamodb/sdk/client.ts";
import { tableName } from "../../../src/platform/dynamodb/tables.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { startService } from "../../../tools/dev/stack/service.ts";
import { composeAs } from "../deploy/compose-as.ts";
import { runAs } from "../deploy/run-as.ts";
import { allScopes } from "../fixtures/descriptors.ts";
import { appending, used } from "../fixtures/event-log.ts";
import {
  claimsOf,
  createSigningKey,
  jwtVariables,
  signToken,
  startIssuer,
} from "../servers/issuer.ts";
import { noWorkflows } from "../servers/no-workflows.ts";
import { deleteTables } from "../stores/delete-tables.ts";
import type { Probe } from "./probe.ts";

/** Where an attacker finds the server. */
export interface Ports {
  readonly port: number;
  readonly http1Port: number;
}

export interface Target extends Ports {
  /** A token of a service that may do everything with the owners of its own name. */
  tokenOf(service: string): Promise<string>;
  /** Reads the probe, which begins anew. */
  probe(): Promise<Probe>;
  /** The same after a collection of the server's memory. */
  collect(): Promise<Probe>;
  stop(): Promise<void>;
}

/** More than any good client sends, and less than a flood. */
const callsPerSecond = 200;

/** Starts a server with tables of its own in this DynamoDB. */
export async function startTarget(dynamoEndpoint: string): Promise<Target> {
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    return { ...(await start(dynamoEndpoint, stops)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The batches of the log of events, and the events of each. */
const [batches, batchSize] = [100, 100];

async function fillLog(log: EventLog): Promise<void> {
  const append = appending(log);
  for (let i = 0; i < batches; i += 1) {
    await append(Array.from({ length: batchSize }, (_, k) => used("u", i * batchSize + k + 1)));
  }
}

async function start(dynamoEndpoint: string, stops: (() => unknown)[]) {
  const key = await createSigningKey("hostile", "RS256");
  const issuer = await startIssuer([key]);
  stops.push(issuer.stop);
  const [port, http1Port, operatorsPort, probePort] = await findPorts(0, 0, 0, 0);
  const env = {
    MEGURI_PORT: String(port),
    MEGURI_HTTP1_PORT: String(http1Port),
    MEGURI_OPERATORS_PORT: String(operatorsPort),
    MEGURI_DYNAMODB_ENDPOINT: dynamoEndpoint,
    MEGURI_TABLE_PREFIX: `hostile-${process.pid}-${port}-`,
    // Refuses connections; a server runs without Temporal.
    MEGURI_TEMPORAL_ADDRESS: "127.0.0.1:9",
    ...jwtVariables(issuer),
    MEGURI_CALLS_PER_SECOND: String(callsPerSecond),
    // DynamoDB Local reads far slower than DynamoDB what ten times as many streams need.
    MEGURI_MAX_STREAMS: "1000",
    MEGURI_LOG_LEVEL: "error",
    MEGURI_DRAIN_SECONDS: "2",
    NODE_ENV: "production",
    AWS_REGION: "local",
  };
  const config = readConfig(env, "server");
  const log = createLogger("hostile", "silent");
  await runAs("setup", config.tablePrefix, () => setupTables(config, log));
  const { deps, close } = composeAs(["setup"], config, noWorkflows, log);
  await setupProgram(deps);
  await close();
  const clients = createClients({ endpoint: dynamoEndpoint, region: config.region });
  stops.push(clients.close, () => deleteTables(clients.retrying, tableName(config.tablePrefix)));
  const options = process.env.NODE_OPTIONS ?? "";
  await fillLog(createEventLog(clients.retrying, tableName(config.tablePrefix)("events")));
  const server = await startService({
    name: "the attacked server",
    entry: "src/server.ts",
    env: {
      ...env,
      TEST_PROBE_PORT: String(probePort),
      NODE_OPTIONS: `${options} --expose-gc --import ${new URL("probe.ts", import.meta.url)}`,
    },
  });
  stops.push(server.stop);
  const read = async (path: string): Promise<Probe> => {
    const answer = await fetch(`http://127.0.0.1:${probePort}${path}`);
    return (await answer.json()) as Probe;
  };
  return {
    port,
    http1Port,
    probe: () => read("/"),
    collect: () => read("/collect"),
    tokenOf: (service: string) => {
      const exp = Math.floor(Date.now() / 1_000) + 3_600;
      return signToken(key, claimsOf({ client_id: service, exp, scope: allScopes.join(" ") }));
    },
  };
}
