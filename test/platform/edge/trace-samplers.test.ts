/** Tests the samplers of `OTEL_TRACES_SAMPLER` with the real SDK: which spans are recorded. */
import type { SpanContext } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { readConfig } from "../../../src/platform/config/config.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { startTracing } from "../../../src/platform/observe/tracing.ts";
import { startSpan } from "../../../src/platform/ports/tracing.ts";

const parentWith = (traceFlags: number): SpanContext => ({
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  traceFlags,
  isRemote: true,
});

/** Runs code while spans are sampled like this. No span is exported. */
async function withSampler(sampler: string, ratio: string, run: () => void): Promise<void> {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    OTEL_TRACES_SAMPLER: sampler,
    OTEL_TRACES_SAMPLER_ARG: ratio,
  };
  const config = readConfig(env, "server");
  const stop = await startTracing(config, "tests", createLogger("test", "silent"));
  run();
  await stop();
}

const isRecorded = (parent?: SpanContext): boolean => startSpan("span", {}, parent).isRecording();

test.each([
  ["always_on", "0", { root: true, sampled: true, unsampled: true }],
  ["always_off", "1", { root: false, sampled: false, unsampled: false }],
  ["traceidratio", "1", { root: true, sampled: true, unsampled: true }],
  ["traceidratio", "0", { root: false, sampled: false, unsampled: false }],
  ["parentbased_always_on", "0", { root: true, sampled: true, unsampled: false }],
  ["parentbased_always_off", "1", { root: false, sampled: true, unsampled: false }],
  ["parentbased_traceidratio", "1", { root: true, sampled: true, unsampled: false }],
  ["parentbased_traceidratio", "0", { root: false, sampled: true, unsampled: false }],
])("%s with %s", async (sampler, ratio, expected) => {
  await withSampler(sampler, ratio, () =>
    expect({
      root: isRecorded(),
      sampled: isRecorded(parentWith(1)),
      unsampled: isRecorded(parentWith(0)),
    }).toEqual(expected),
  );
});

test("a ratio takes its share of the traces that begin here", async () => {
  await withSampler("parentbased_traceidratio", "0.5", () => {
    const taken = Array.from({ length: 2_000 }, () => isRecorded()).filter(Boolean);
    // A share that is off by this much has a chance below 1e-18.
    expect(taken.length).toBeGreaterThan(800);
    expect(taken.length).toBeLessThan(1_200);
  });
});
