/** Tests that processes load the SDK of OpenTelemetry only where a collector is configured. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { findPorts } from "../../../tools/dev/stack/free-port.ts";
import { startService } from "../../../tools/dev/stack/service.ts";
import { type Collector, startCollector } from "../../support/servers/collector.ts";

let collector: Collector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector?.stop());

/** Makes a process print the address of each module that it loads. */
const printsModules = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    load(url, context, next) {
      console.log("loads " + url);
      return next(url, context);
    },
  });
`)}`;

const isOfSdk = (line: string) =>
  line.startsWith("loads ") && /tracing-sdk|@opentelemetry\/(sdk|exporter)/.test(line);

/** Starts a process until it is ready, and returns the modules that it has loaded. */
async function modulesOf(entry: string, more: Readonly<Record<string, string>>) {
  const [port, http1Port, operatorsPort, nothing] = await findPorts(0, 0, 0, 0);
  const lines: string[] = [];
  const child = await startService({
    ...{ name: entry, entry },
    env: {
      NODE_OPTIONS: printsModules,
      MEGURI_PORT: `${port}`,
      MEGURI_HTTP1_PORT: `${http1Port}`,
      MEGURI_OPERATORS_PORT: `${operatorsPort}`,
      MEGURI_METRICS_PORT: "0",
      MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint"),
      // A server begins without Temporal, in whose namespace it would make its schedules.
      MEGURI_TEMPORAL_ADDRESS:
        entry === "src/server.ts" ? `127.0.0.1:${nothing}` : inject("temporalAddress"),
      MEGURI_TASK_QUEUE: `t-${randomUUID()}`,
      MEGURI_WORKFLOW_BUNDLE: inject("workflowBundle"),
      ...more,
    },
    onLine: (line) => lines.push(line),
  });
  await child.stop();
  expect(lines.some((line) => line.endsWith("/src/platform/observe/tracing.ts"))).toBe(true);
  return lines.filter(isOfSdk);
}

test.each(["src/server.ts", "src/worker.ts"])(
  "%s loads the SDK of OpenTelemetry for a collector only",
  async (entry) => {
    expect(await modulesOf(entry, {})).toEqual([]);
    const traced = await modulesOf(entry, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    expect(traced).not.toEqual([]);
  },
);
