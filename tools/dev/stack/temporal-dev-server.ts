/** Starts Temporal's dev server: one process with a database of its own and an optional Web UI. */
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Connection } from "@temporalio/client";
import type { Child } from "./child.ts";
import { adopt, waitUntilReady } from "./child.ts";
import { findPorts, retryLostPorts } from "./free-port.ts";
import { findTemporalCli } from "./temporal-cli.ts";

const HOST = "127.0.0.1";
const ANSWER_TIMEOUT_MS = 10_000;
/** Gives a worker the activity that its task has scheduled with the answer, as production may. */
const eager = { "system.enableActivityEagerExecution": "true" };
const DEFAULT_NAMESPACE = "default";

export type TemporalOptions = {
  /** The database file; in memory by default. Its folder is created when it does not exist. */
  readonly dataFile?: string;
  /** The gRPC port; a free one by default. */
  readonly port?: number;
  /** Serves the Web UI, on this port or (`true`) on a free one. No UI by default. */
  readonly ui?: boolean | number;
  /** Always starts a new server, even when TEMPORAL_ADDRESS names one. */
  readonly ignoreRunning?: boolean;
  /** Dynamic configuration of the server: JSON values by key. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
  /** Called with a line of progress while the CLI is fetched. */
  readonly onProgress?: (line: string) => void;
};

export type Temporal = {
  /** `host:port` of the gRPC frontend. */
  readonly address: string;
  readonly namespace: string;
  /** Undefined without a UI. */
  readonly uiUrl: string | undefined;
  /** Undefined when the server was running already. */
  readonly pid: number | undefined;
  /** Resolves when the server has ended; never for one that was running already. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
  /** Sends SIGKILL, like a crash. A new server with the same `port` and `dataFile` recovers. */
  killHard(): Promise<void>;
};

/**
 * Starts a dev server and waits until its namespace can be used. If TEMPORAL_ADDRESS names a server
 * (with TEMPORAL_NAMESPACE and TEMPORAL_UI_URL), uses that one and never stops it.
 *
 * @throws Error when no Temporal CLI can be found or fetched, or the server does not start.
 */
export async function startTemporal(options: TemporalOptions = {}): Promise<Temporal> {
  const running = options.ignoreRunning ? undefined : process.env.TEMPORAL_ADDRESS;
  if (running) return runningServer(running);

  const cli = await findTemporalCli(options.onProgress);
  return retryLostPorts(() => startOnce(cli, options));
}

async function startOnce(cli: string, options: TemporalOptions): Promise<Temporal> {
  const requestedUiPort = typeof options.ui === "number" ? options.ui : 0;
  const [freePort, freeUiPort] = await findPorts(0, 0);
  const port = options.port ?? freePort;
  const uiPort = requestedUiPort || freeUiPort;
  const args = ["server", "start-dev", "--ip", HOST, "--port", String(port)];
  args.push("--namespace", DEFAULT_NAMESPACE, "--log-level", "error");
  args.push(...(options.ui ? ["--ui-port", String(uiPort)] : ["--headless"]));
  if (options.dataFile !== undefined) {
    const file = resolve(options.dataFile);
    await mkdir(dirname(file), { recursive: true });
    args.push("--db-filename", file);
  }
  for (const [key, value] of Object.entries({ ...eager, ...options.dynamicConfig })) {
    args.push("--dynamic-config-value", `${key}=${value}`);
  }
  const process_ = spawn(cli, args, { detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const child = await adopt(process_, { name: "Temporal" });
  const address = `${HOST}:${port}`;
  await waitForNamespace(child, address, DEFAULT_NAMESPACE);
  const { pid, stop, killHard } = child;
  // Its output is not shown while it runs, but says why it has ended.
  const exited = child.exited.then((why) => `${why}\n${child.lastOutput()}`.trim());
  const uiUrl = options.ui ? `http://${HOST}:${uiPort}` : undefined;
  return { address, namespace: DEFAULT_NAMESPACE, uiUrl, pid, exited, stop, killHard };
}

function runningServer(address: string): Temporal {
  const nothing = async () => {};
  return {
    address,
    namespace: process.env.TEMPORAL_NAMESPACE || DEFAULT_NAMESPACE,
    uiUrl: process.env.TEMPORAL_UI_URL || undefined,
    pid: undefined,
    exited: new Promise(() => {}),
    stop: nothing,
    killHard: nothing,
  };
}

/** Waits for the namespace: the port opens before it exists. */
async function waitForNamespace(child: Child, address: string, namespace: string): Promise<void> {
  const connection = Connection.lazy({ address });
  const check = async () => {
    try {
      await connection.withDeadline(Date.now() + ANSWER_TIMEOUT_MS, () =>
        connection.workflowService.describeNamespace({ namespace }),
      );
      return true;
    } catch {
      return false;
    }
  };
  try {
    await waitUntilReady(child, check);
  } finally {
    await connection.close();
  }
}
