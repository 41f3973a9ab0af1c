/** Makes alerts true by real faults, as a Prometheus sees them that scrapes real processes. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import type { Child } from "../../src/dev/stack/child.ts";
import { findPorts } from "../../src/dev/stack/free-port.ts";
import { startService } from "../../src/dev/stack/service.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { projectRoot } from "../support/markdown.ts";
import { type Prometheus, startPrometheus } from "../support/servers/prometheus.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

/** The expressions of the alerts, by name. How long they have to be true is tested by promtool. */
const expressions: Readonly<Record<string, string>> = Object.fromEntries(
  parse(readFileSync(`${projectRoot}deploy/prometheus/rules.yml`, "utf8")).groups.flatMap(
    ({ rules }: { rules: { alert?: string; expr: string }[] }) =>
      rules.flatMap(({ alert, expr }) => (alert ? [[alert, expr]] : [])),
  ),
);

let stack: WorkerStack;
let server: Child;
let worker: Child;
let prometheus: Prometheus;
let http1Port: number;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  const [port, http1, operatorsPort, metricsPort] = await findPorts(0, 0, 0, 0);
  http1Port = http1;
  const { config, proxy } = stack;
  server = await startService({
    name: "server",
    entry: "src/server.ts",
    env: {
      MEGURI_PORT: String(port),
      MEGURI_HTTP1_PORT: String(http1Port),
      MEGURI_OPERATORS_PORT: String(operatorsPort),
      MEGURI_DYNAMODB_ENDPOINT: proxy.endpoint,
      MEGURI_TABLE_PREFIX: config.tablePrefix,
      MEGURI_TEMPORAL_ADDRESS: config.temporalAddress,
      MEGURI_TEMPORAL_NAMESPACE: config.temporalNamespace,
      MEGURI_TASK_QUEUE: config.taskQueue,
    },
  });
  worker = await stack.startWorkerProcess({ MEGURI_METRICS_PORT: String(metricsPort) });
  const jobs = { "meguri-server": operatorsPort, "meguri-worker": metricsPort };
  prometheus = await startPrometheus(jobs);
});
afterAll(async () => {
  await prometheus?.stop();
  await worker?.stop();
  await server?.stop();
  await stack?.stop();
});

/**
 * Grants points to one user after another until an alert is true, or no longer true: the windows of
 * the expressions have to pass.
 */
async function callUntil(alert: string, isTrue: boolean): Promise<void> {
  await eventually(async () => {
    void grant();
    const count = await prometheus.count(expressions[alert] ?? "");
    expect(count > 0, `${alert} is true`).toBe(isTrue);
  }, 300_000);
}

let grants = 0;

/** A grant, whatever becomes of it. */
async function grant(): Promise<void> {
  grants += 1;
  const userId = `user-${grants}`;
  await fetch(`http://127.0.0.1:${http1Port}/meguri.points.v1.PointsService/GrantPoints`, {
    method: "POST",
    headers: { "content-type": "application/json", "meguri-caller": "tests" },
    body: JSON.stringify({ programId: stack.programId, userId, eventId: "welcome", points: 1 }),
  }).catch(() => {});
}

const lost = ["MeguriNoServer", "MeguriNoWorker", "MeguriNoReconcilerPass"];

test("alerts follow the faults", async () => {
  for (const alert of lost) await callUntil(alert, false);

  await callUntil("MeguriStoreThrottles", false);
  stack.proxy.faults({ throttle: 0.9 });
  await callUntil("MeguriStoreThrottles", true);
  stack.proxy.faults({});
  await callUntil("MeguriStoreThrottles", false);

  await callUntil("MeguriStoreAway", false);
  stack.proxy.faults({ delay: 1, delayMs: [60_000, 60_000] });
  await callUntil("MeguriStoreAway", true);
  stack.proxy.faults({});
  await callUntil("MeguriStoreAway", false);

  await worker.killHard();
  await server.killHard();
  for (const alert of lost) await callUntil(alert, true);
});
