/** The runtime of the Temporal SDK: its log goes to this project's log, its metrics to a port. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import {
  type LogLevel,
  type LogMetadata,
  Runtime,
  type Logger as SdkLogger,
} from "@temporalio/worker";
import type { Logger } from "../platform/observe/log.ts";
import { describeError } from "../platform/ports/described-errors.ts";
import { isLogged } from "../platform/ports/logged-failures.ts";

/** The SDK's warning for a worker that has activities only, as that of the bulk rows. */
const noWorkflows = "No workflows registered, not polling for workflow tasks";

/**
 * Whether a line of the SDK's core is about a failure that has a line with more: the error of a
 * workflow task comes from the SDK's TypeScript, which has logged it, and an answer to an activity
 * whose run has ended is lost on purpose. The line of it names neither of them.
 */
const isSecondLine = (message: string, { failure }: LogMetadata): boolean =>
  message.startsWith("Activity not found on completion") ||
  (message === "Failing workflow task" && String(failure).includes('source: "TypeScriptSDK"'));

/** Fewer tries than this have found a port that stayed free. */
const maxTries = 5;

/** How long the page of the metrics waits for those of the SDK. */
const readMs = 1_000;

/** Passes messages on from level WARN. To be called once per process. */
export const installSdk = (log: Logger): void => install(log);

/**
 * Does the same in a process that shows the SDK's metrics. The SDK serves them on a port of its
 * own, which it cannot choose itself: that is stable and counts in native code, while its buffer of
 * events is experimental and makes an object of each. Returns what reads them, in Prometheus' text
 * format.
 */
export async function installSdkWithMetrics(log: Logger): Promise<() => Promise<string>> {
  for (let tries = 1; ; tries++) {
    const bindAddress = `127.0.0.1:${await findFreePort()}`;
    try {
      install(log, bindAddress);
    } catch (error) {
      // Another process has taken the port meanwhile.
      if (tries < maxTries) continue;
      throw error;
    }
    return async () => {
      const signal = AbortSignal.timeout(readMs);
      return (await fetch(`http://${bindAddress}/metrics`, { signal })).text();
    };
  }
}

function install(log: Logger, bindAddress?: string): void {
  Runtime.install({
    logger: sdkLog(log),
    // The SDK's own signal handlers would not wait until store and metrics are closed.
    shutdownSignals: [],
    telemetryOptions: {
      logging: { filter: { core: "WARN", other: "ERROR" }, forward: {} },
      ...(bindAddress && {
        metrics: { attachServiceName: false, prometheus: { bindAddress, ...names } },
      }),
    },
  });
}

/** Names and units as Prometheus recommends them. */
const names = { countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true };

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Errors of activities and workflows are described, because they may quote users. Errors of the SDK
 * itself stay whole. Whoever has a task token can complete its activity, so it is left out.
 */
function fieldsOf({ error, err = error, taskToken: _, ...meta }: LogMetadata): object {
  if (err === undefined) return meta;
  return { ...meta, err: "workflowType" in meta ? describeError(err) : err };
}

function sdkLog(log: Logger): SdkLogger {
  const write = (level: LogLevel, message: string, metadata: LogMetadata = {}) => {
    if (isLogged(metadata.error) || isSecondLine(message, metadata)) return;
    const fields = fieldsOf(metadata);
    if (level === "ERROR") log.error(fields, message);
    else if (level === "WARN" && !message.startsWith(noWorkflows)) log.warn(fields, message);
  };
  const ignore = () => {};
  return {
    log: write,
    trace: ignore,
    debug: ignore,
    info: ignore,
    warn: (message, meta) => write("WARN", message, meta),
    error: (message, meta) => write("ERROR", message, meta),
  };
}
