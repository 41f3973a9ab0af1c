import {
  type LogLevel,
  type LogMetadata,
  Runtime,
  type Logger as SdkLogger,
} from "@temporalio/worker";
import type { Logger } from "../log.ts";

/** Sends what the Temporal SDK says, from WARN on, through our log. Once per process. */
export function installSdkLog(log: Logger): void {
  Runtime.install({
    logger: sdkLog(log),
    // The worker's own signal handlers would not wait for what else has to be closed.
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: { core: "WARN", other: "ERROR" }, forward: {} } },
  });
}

function sdkLog(log: Logger): SdkLogger {
  const say = (level: LogLevel, message: string, { error, ...meta }: LogMetadata = {}) => {
    const fields = error === undefined ? meta : { ...meta, err: error };
    if (level === "ERROR") log.error(fields, message);
    else if (level === "WARN") log.warn(fields, message);
  };
  const quiet = () => {};
  return {
    log: say,
    trace: quiet,
    debug: quiet,
    info: quiet,
    warn: (message, meta) => say("WARN", message, meta),
    error: (message, meta) => say("ERROR", message, meta),
  };
}
