/** Exports the spans of a process, if a collector is configured. */
import type { Config } from "../config/config.ts";
import type { Logger } from "./log.ts";

/**
 * Installs the SDK of OpenTelemetry if `OTEL_EXPORTER_OTLP_ENDPOINT` is set; otherwise its code is
 * not even loaded. To be called before the first call is served. Returns what sends the queued
 * spans at the end, for a second at most.
 */
export async function startTracing(
  { tracing }: Pick<Config, "tracing">,
  serviceName: string,
  log: Logger,
): Promise<() => Promise<void>> {
  if (tracing === undefined) return async () => {};
  const { installTracing } = await import("./tracing-sdk.ts");
  return installTracing(tracing, serviceName, log);
}
