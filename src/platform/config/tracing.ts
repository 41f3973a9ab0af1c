/** The standard variables of OpenTelemetry that this project reads itself. */
import type { z } from "zod";
import { decimal, oneOf, webUrl, whole } from "./fields.ts";

const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

export type SamplerName = (typeof samplers)[number];

const count = whole(1);

/** The exporter reads its further variables itself, such as the headers for the endpoint. */
export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl.optional(),
  OTEL_TRACES_SAMPLER: oneOf(samplers).prefault("parentbased_always_on"),
  OTEL_TRACES_SAMPLER_ARG: decimal(0, 1).prefault("1"),
  OTEL_BSP_SCHEDULE_DELAY: count.prefault("5000"),
  OTEL_BSP_MAX_QUEUE_SIZE: count.prefault("2048"),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: count.prefault("512"),
};

/** How spans are sampled, queued and sent. */
export interface TracingConfig {
  readonly sampler: SamplerName;
  /** The share of traces that the samplers by ratio take. */
  readonly samplerArg: number;
  readonly scheduledDelayMillis: number;
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
}

type Variables = z.output<z.ZodObject<typeof tracingVariables>>;

/** Undefined without an endpoint: nothing is traced. */
export function readTracing(env: Variables): TracingConfig | undefined {
  if (env.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined;
  return {
    sampler: env.OTEL_TRACES_SAMPLER,
    samplerArg: env.OTEL_TRACES_SAMPLER_ARG,
    scheduledDelayMillis: env.OTEL_BSP_SCHEDULE_DELAY,
    maxQueueSize: env.OTEL_BSP_MAX_QUEUE_SIZE,
    maxExportBatchSize: env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
  };
}
