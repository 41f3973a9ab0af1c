/** Tests which attempts of activities are traced, and what their spans say. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readConfig } from "../../src/platform/config/config.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { startTracing } from "../../src/platform/observe/tracing.ts";
import { traceActivities } from "../../src/worker/trace-activities.ts";
import { patience } from "../support/fixtures/waiting.ts";
import { type Collector, startCollector } from "../support/servers/collector.ts";

let collector: Collector;
let stopTracing: () => Promise<void>;
beforeAll(async () => {
  collector = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: "10" };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const config = readConfig(env, "worker");
  stopTracing = await startTracing(config, "tests", createLogger("test", "silent"));
});
afterAll(async () => {
  await stopTracing();
  await collector.stop();
  vi.unstubAllEnvs();
});

const run = (activityType: string, activity: () => Promise<unknown>) =>
  new MockActivityEnvironment({ activityType }, { interceptors: [traceActivities] }).run(activity);

test("an attempt is a trace, whose error has no message, unless it only waits", async () => {
  await run("grantWhenDue", async () => {});
  const failed = run("runBlocks", () => Promise.reject(new Error("planted-user is unknown")));
  await expect(failed).rejects.toThrow("planted-user");
  const [span, ...others] = await vi.waitFor(() => {
    if (collector.spans.length === 0) throw new Error("no span");
    return collector.spans;
  }, patience);
  expect(others).toEqual([]);
  expect(span?.name).toBe("runBlocks");
  const attributes = Object.fromEntries(
    span?.attributes.map(({ key, value }) => [key, value]) ?? [],
  );
  expect(attributes).toMatchObject({ "error.type": { stringValue: "INTERNAL" } });
  expect(attributes).toHaveProperty(["temporal.run_id"]);
  expect(JSON.stringify(span)).not.toContain("planted");
});
