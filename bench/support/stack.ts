/**
 * Starts a benchmark's own stack: DynamoDB Local and optionally Temporal, in memory and on free
 * ports, and servers and workers as processes of their own, started as production starts them.
 */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compose } from "../../src/compose.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { setup, setupProgram, setupTables } from "../../src/ops/setup.ts";
import { type Config, readConfig } from "../../src/platform/config/config.ts";
import { type Clients, createClients } from "../../src/platform/dynamodb/sdk/client.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { bundleWorkflows } from "../../src/worker/bundle.ts";
import { noWorkflows } from "../../test/support/servers/no-workflows.ts";
import { checkOut, type Version } from "../../test/support/upgrade/versions.ts";
import { previousCommit } from "../../tools/dev/releases.ts";
import { adopt, type Child, waitUntilReady } from "../../tools/dev/stack/child.ts";
import { startDynamoDbLocal } from "../../tools/dev/stack/dynamodb-local.ts";
import { nodeFlags } from "../../tools/dev/stack/service.ts";
import { startTemporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { type Channel, openChannel } from "./rpc.ts";

/** A process that is ready. */
export interface Process {
  readonly pid: number;
  stop(): Promise<void>;
}

export interface ServerProcess extends Process {
  readonly port: number;
  readonly channel: Channel;
}

export interface ProcessOptions {
  readonly entry?: string;
  /** Another endpoint of the store, such as a proxy. */
  readonly dynamoEndpoint?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of Node itself. */
  readonly node?: readonly string[];
  /** Another version of the project, such as the previous one. */
  readonly version?: Version;
}

export interface Stack {
  readonly config: Config;
  readonly dynamo: { readonly endpoint: string; readonly pid: number };
  readonly temporalPid: number | undefined;
  /** The use cases' dependencies in this process, on the same store, without Temporal. */
  readonly deps: Deps;
  readonly clients: Clients;
  startServer(options?: ProcessOptions): Promise<ServerProcess>;
  startWorker(options?: ProcessOptions): Promise<Process>;
  startEvents(options?: ProcessOptions): Promise<Process>;
  /** Stops all processes in the reverse order of their start. */
  stop(): Promise<void>;
}

const quiet = createLogger("bench", "silent");
const root = `${import.meta.dirname}/../..`;

/** Starts a stack with the program `default`. */
export async function startStack(options: { temporal?: boolean } = {}): Promise<Stack> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    const dynamo = await startDynamoDbLocal();
    stops.push(dynamo.stop);
    const temporal = options.temporal ? await startTemporal({ ignoreRunning: true }) : undefined;
    if (temporal) stops.push(temporal.stop);
    const env = environment(dynamo.endpoint, temporal?.address);
    const config = readConfig(env, "server");
    if (temporal) await setup(config, quiet);
    else await setupTables(config, quiet);
    const { deps, close } = compose(config, noWorkflows, quiet);
    stops.push(close);
    const { dynamoEndpoint: endpoint, region } = config;
    const clients = createClients({ endpoint, region, transport: "sdk" });
    stops.push(async () => clients.close());
    if (!temporal) await setupProgram(deps);
    const start = async (entry: string, given: ProcessOptions) => {
      const store = given.dynamoEndpoint && { MEGURI_DYNAMODB_ENDPOINT: given.dynamoEndpoint };
      const started = await startProcess(entry, { ...env, ...store, ...given.env }, given);
      stops.push(started.stop);
      return started;
    };
    return {
      config,
      dynamo,
      temporalPid: temporal?.pid,
      deps,
      clients,
      async startServer(given = {}) {
        const { pid, ready, stop: end } = await start(given.entry ?? "src/server.ts", given);
        const port = Number(ready.port);
        const channel = openChannel(port);
        stops.push(async () => channel.close());
        return { pid, port, channel, stop: end };
      },
      async startWorker(given = {}) {
        // As in production: a worker that bundles keeps the bundler in its memory.
        const bundle = given.version?.bundle ?? (await bundleFile());
        const options = { ...given, env: { MEGURI_WORKFLOW_BUNDLE: bundle, ...given.env } };
        return start(given.entry ?? "src/worker.ts", options);
      },
      startEvents: (given = {}) => start(given.entry ?? "src/events.ts", given),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

let bundle: Promise<string> | undefined;

/** Bundles the workflows once. Returns the path of the file. */
function bundleFile(): Promise<string> {
  bundle ??= (async () => {
    const folder = await mkdtemp(join(tmpdir(), "meguri-bench-"));
    process.once("exit", () => rmSync(folder, { recursive: true }));
    const { code } = await bundleWorkflows();
    const file = join(folder, "workflows.js");
    await writeFile(file, code);
    return file;
  })();
  return bundle;
}

let previous: Promise<Version> | undefined;

/** Checks out the version before this one (tools/dev/releases.ts), for as long as this process. */
export function previousVersion(): Promise<Version> {
  previous ??= (async () => {
    const { version } = await checkOut(previousCommit);
    process.once("exit", () => rmSync(version.root, { recursive: true, force: true }));
    return version;
  })();
  return previous;
}

/** Runs `use` on a stack of its own, and stops the stack in any case. */
export async function withStack<T>(
  options: { temporal?: boolean },
  use: (stack: Stack) => Promise<T>,
): Promise<T> {
  const stack = await startStack(options);
  try {
    return await use(stack);
  } finally {
    await stack.stop();
  }
}

/** Without Temporal, the address refuses connections; a server runs without it. */
const environment = (dynamo: string, temporal = "127.0.0.1:9") => ({
  NODE_ENV: "production",
  MEGURI_DYNAMODB_ENDPOINT: dynamo,
  MEGURI_TABLE_PREFIX: "bench-",
  MEGURI_TEMPORAL_ADDRESS: temporal,
  MEGURI_PORT: "0",
  MEGURI_HTTP1_PORT: "0",
  MEGURI_METRICS_PORT: "0",
  MEGURI_OPERATORS_PORT: "0",
  MEGURI_EVENTS_PORT: "0",
  MEGURI_DRAIN_SECONDS: "2",
  AWS_REGION: "local",
});

/** Starts a process of this project, or of another version, and waits for its log line `ready`. */
export async function startProcess(
  entry: string,
  env: Readonly<Record<string, string>>,
  { node = [], version }: Pick<ProcessOptions, "node" | "version"> = {},
): Promise<Process & { readonly ready: Record<string, unknown> }> {
  let ready: Record<string, unknown> | undefined;
  const process_ = spawn(process.execPath, [...nodeFlags(entry), ...node, entry], {
    cwd: version?.root ?? root,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const warnings = new Map<string, number>();
  const child: Child = await adopt(process_, {
    name: entry,
    onLine: (line) => {
      const entry = parsed(line);
      if (entry.msg === "ready") ready ??= entry;
      if (Number(entry.level) < 40) return;
      const error = entry.reason ?? (entry.err as Error | undefined)?.message ?? "";
      const warning = `${entry.msg} ${error}`;
      warnings.set(warning, (warnings.get(warning) ?? 0) + 1);
    },
  });
  await waitUntilReady(child, async () => ready !== undefined);
  const stop = async () => {
    await child.stop();
    for (const [text, count] of warnings) console.error(`  ${entry} logged ${count}×: ${text}`);
    warnings.clear();
  };
  return { pid: child.pid, ready: ready ?? {}, stop };
}

/** Parses a line of the log. Other output gets level 0. */
function parsed(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return { level: 0 };
  }
}
