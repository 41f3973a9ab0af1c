/** Passes the log of the Temporal SDK to this project's log. */
import {
  type LogLevel,
  type LogMetadata,
  Runtime,
  type Logger as SdkLogger,
} from "@temporalio/worker";
import type { Logger } from "../log.ts";

/** What the SDK warns of when a worker has activities only, as that of the bulk rows. */
const noWorkflows = "No workflows registered, not polling for workflow tasks";

/** Passes messages on from level WARN. To be called once per process. */
export function installSdkLog(log: Logger): void {
  Runtime.install({
    logger: sdkLog(log),
    // The SDK's own signal handlers would not wait until store and metrics are closed.
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: { core: "WARN", other: "ERROR" }, forward: {} } },
  });
}

function sdkLog(log: Logger): SdkLogger {
  const write = (level: LogLevel, message: string, { error, ...meta }: LogMetadata = {}) => {
    const fields = error === undefined ? meta : { ...meta, err: error };
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
