/** The SDK of OpenTelemetry: sampling, a bounded queue of spans, and their export by OTLP/HTTP. */
import { setTimeout as sleep } from "node:timers/promises";
import { context, diag, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { SamplerName, TracingConfig } from "../config/tracing.ts";
import type { Logger } from "./log.ts";

/** How long the end of a process waits for the collector. */
const flushMs = 1_000;

/** A collector that is away is logged once in this time, not for each batch of spans. */
const quietMs = 60_000;

/**
 * Installs the SDK. The exporter reads its own variables: endpoint, headers, timeout, compression.
 * Spans wait in a queue of a fixed length and are dropped when it is full, so a collector that is
 * slow or away costs neither memory nor time of a call.
 */
export function installTracing(
  { sampler, samplerArg, ...queue }: TracingConfig,
  serviceName: string,
  log: Logger,
): () => Promise<void> {
  diag.setLogger(warnSeldom(log));
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": serviceName }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: createSampler(sampler, samplerArg),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...queue })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
  return async () => {
    const stopped = provider.shutdown().catch(() => {});
    await Promise.race([stopped, sleep(flushMs)]);
    for (const api of [trace, context, diag]) api.disable();
  };
}

/** The samplers of the specification's `OTEL_TRACES_SAMPLER`. */
function createSampler(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratio);
    case "parentbased_always_on":
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case "parentbased_always_off":
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case "parentbased_traceidratio":
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}

/** Passes the SDK's warnings on. Drops its messages of lower levels. */
function warnSeldom(log: Logger) {
  let quietUntil = Number.NEGATIVE_INFINITY;
  const warn = (reason: string) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + quietMs;
    log.warn({ reason }, "spans are lost: the collector does not take them");
  };
  const ignore = () => {};
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
}
