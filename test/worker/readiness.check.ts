/** Tests the page `/readyz` of a worker, against a Temporal behind a proxy that is cut. */
import { NativeConnection } from "@temporalio/worker";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createWorkerReadiness } from "../../src/worker/readiness.ts";
import { createTemporalWatch } from "../../src/worker/temporal-watch.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { findPorts } from "../../tools/dev/stack/free-port.ts";
import { expectGrantedOnce, reserveAndStart } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { codeNamed } from "../support/markdown.ts";
import { readPage } from "../support/servers/operators.ts";
import { startTcpProxy, type TcpProxy } from "../support/servers/tcp-proxy.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
let proxy: TcpProxy;
const cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb", worker: false });
  proxy = await startTcpProxy(Number(stack.config.temporalAddress.split(":")[1]));
});
afterEach(async () => {
  proxy.restore();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(async () => {
  await proxy?.stop();
  await stack?.stop();
});

/** The line of the SDK for the polls of a queue. */
const polls = (queue: string, type: string, count = 2) =>
  `temporal_num_pollers{namespace="n",poller_type="${type}",task_queue="${queue}"} ${count}\n`;

const queuesOf = (queue: string) =>
  ({
    [queue]: ["workflow_task", "activity_task"],
    [`${queue}-bulk`]: ["activity_task"],
    [`${queue}-month-ends`]: ["activity_task"],
  }) as const;

const allPolls = [
  polls("q", "workflow_task"),
  polls("q", "activity_task"),
  polls("q-bulk", "activity_task"),
  polls("q-month-ends", "activity_task"),
].join("");

/** A page of a worker that serves, polls the queues of `q`, and has just reached Temporal. */
const pageOf = (changed: Partial<Parameters<typeof createWorkerReadiness>[0]>) =>
  createWorkerReadiness({
    states: { current: "SERVING" },
    storeProblem: async () => undefined,
    queues: queuesOf("q"),
    readSdkMetrics: async () => allPolls,
    silenceMs: () => 0,
    ...changed,
  })();

const isReady = {
  status: 200,
  text:
    "worker: ok\nstore: ok\ntemporal: ok\n" +
    "queue q: ok\nqueue q-bulk: ok\nqueue q-month-ends: ok\n",
};

test("a worker is ready up to the last of 60 s without Temporal", async () => {
  expect(await pageOf({ silenceMs: () => 60_000 })).toEqual(isReady);
  const text = codeNamed("docs/run/watching.md", "workerReadyz");
  const readSdkMetrics = async () => allPolls.replaceAll('"q', '"meguri');
  const page = pageOf({ silenceMs: () => 61_400, queues: queuesOf("meguri"), readSdkMetrics });
  expect(await page).toEqual({ status: 503, text });
});

test.each([
  ["q", "workflow_task", "q: no poll for workflow_task"],
  ["q", "activity_task", "q: no poll for activity_task"],
  ["q-bulk", "activity_task", "q-bulk: no poll for activity_task"],
  ["q-month-ends", "activity_task", "q-month-ends: no poll for activity_task"],
])("a worker without polls of %s for a %s is not ready", async (queue, type, line) => {
  const poll = polls(queue, type);
  const text = isReady.text.replace(`${queue}: ok`, line);
  for (const instead of ["", polls(queue, type, 0), polls(`${queue}-x`, type)]) {
    const readSdkMetrics = async () => allPolls.replace(poll, instead);
    expect(await pageOf({ readSdkMetrics })).toEqual({ status: 503, text });
  }
});

test.each([
  ["q", "workflow_task", "WorkflowWorker"],
  ["q-bulk", "activity_task", "ActivityWorker"],
  ["q-month-ends", "activity_task", "ActivityWorker"],
])("a worker whose slots of %s for a %s are all in use is ready", async (queue, type, worker) => {
  const text = isReady.text.replace(`${queue}: ok`, `${queue}: no poll for ${type}`);
  const pageWith = (slots: string) => {
    const metrics = allPolls.replace(polls(queue, type), polls(queue, type, 0) + slots);
    return pageOf({ readSdkMetrics: async () => metrics });
  };
  const slots = (of: string, by: string, count: number) =>
    `temporal_worker_task_slots_available{task_queue="${of}",worker_type="${by}"} ${count}\n`;
  expect(await pageWith(slots(queue, worker, 0))).toEqual(isReady);
  for (const other of [
    slots(queue, worker, 1),
    slots(queue, "LocalActivityWorker", 0),
    slots(`${queue}-x`, worker, 0),
  ]) {
    expect(await pageWith(other)).toEqual({ status: 503, text });
  }
});

test.each(["STARTING", "DRAINING"] as const)(
  "a worker that is %s is not ready",
  async (current) => {
    const text = isReady.text.replace("worker: ok", `worker: ${current.toLowerCase()}`);
    expect(await pageOf({ states: { current } })).toEqual({ status: 503, text });
  },
);

test("a worker whose store refuses is not ready, and says why", async () => {
  const problem = "STORE_REFUSES: the store refuses Scan on points: AccessDeniedException";
  const text = isReady.text.replace("store: ok", `store: ${problem}`);
  expect(await pageOf({ storeProblem: async () => problem })).toEqual({ status: 503, text });
});

test("a worker whose SDK tells nothing is not ready", async () => {
  const readSdkMetrics = () => Promise.reject(new Error("no answer"));
  const { status, text } = await pageOf({ readSdkMetrics });
  expect(status).toBe(503);
  expect(text).toContain("queue q: no poll for workflow_task, activity_task\n");
});

test("a worker is ready again when Temporal answers again", async () => {
  const connection = await NativeConnection.connect({ address: `127.0.0.1:${proxy.port}` });
  const temporal = createTemporalWatch(100);
  cleanups.push(() => connection.close(), temporal.close);
  const page = () => pageOf({ silenceMs: temporal.silenceMs, limitMs: 2_000 });
  expect((await page()).text).toContain("temporal: not reached yet\n");
  temporal.start(connection);
  expect(await page()).toEqual(isReady);
  for (const interrupt of [proxy.cut, proxy.hang]) {
    interrupt();
    await eventually(async () => {
      const { status, text } = await page();
      expect(status).toBe(503);
      expect(text).toMatch(/^temporal: not reached for [2-9]\d* s$/m);
    });
    // Connections that hang are cut in the end, and new ones are made.
    proxy.cut();
    proxy.restore();
    await eventually(async () => expect(await page()).toEqual(isReady));
  }
});

/** Starts a worker behind the proxy. It may wait for Temporal. */
async function startWorker(): Promise<{ metricsPort: number; worker: Promise<Child> }> {
  const [metricsPort] = (await findPorts(0)) as [number];
  const worker = stack.startWorkerProcess({
    MEGURI_TEMPORAL_ADDRESS: `127.0.0.1:${proxy.port}`,
    MEGURI_METRICS_PORT: String(metricsPort),
    MEGURI_DRAIN_SECONDS: "60",
  });
  cleanups.push(() => worker.then(({ killHard }) => killHard()));
  return { metricsPort, worker };
}

test("a process is ready from its polls on until SIGTERM", async () => {
  const queue = stack.config.taskQueue;
  proxy.cut();
  const { metricsPort, worker } = await startWorker();
  const noPolls =
    `queue ${queue}: no poll for workflow_task, activity_task\n` +
    `queue ${queue}-bulk: no poll for activity_task\n` +
    `queue ${queue}-month-ends: no poll for activity_task\n`;
  const readyz = () => readPage(metricsPort, "/readyz");
  await eventually(async () => {
    const text = `worker: starting\nstore: ok\ntemporal: not reached yet\n${noPolls}`;
    expect(await readyz()).toEqual({ status: 503, text });
  });
  expect(await readPage(metricsPort, "/livez")).toEqual({ status: 200, text: "alive\n" });
  const silence = /^meguri_temporal_silence_seconds ([\d.]+)$/m;
  const silenceSeconds = async () =>
    Number(silence.exec((await readPage(metricsPort, "/metrics")).text)?.[1]);
  const before = await silenceSeconds();
  await eventually(async () => expect(await silenceSeconds()).toBeGreaterThan(before + 2));
  proxy.restore();
  const isPolled = ["", "-bulk", "-month-ends"].map((suffix) => `queue ${queue}${suffix}: ok\n`);
  const text = `worker: ok\nstore: ok\ntemporal: ok\n${isPolled.join("")}`;
  await eventually(async () => expect(await readyz()).toEqual({ status: 200, text }));
  await eventually(async () => expect(await silenceSeconds()).toBeLessThan(before));

  // A grant that waits for the store keeps the worker from its end.
  stack.proxy.down(true);
  const { refused } = stack.proxy.stats();
  await reserveAndStart(stack, { id: "waits" });
  await eventually(async () => expect(stack.proxy.stats().refused).toBeGreaterThan(refused));
  const child = await worker;
  process.kill(child.pid, "SIGTERM");
  await eventually(async () => {
    const answer = await readyz();
    expect(answer.status).toBe(503);
    expect(answer.text).toMatch(/^worker: draining$/m);
  });
  stack.proxy.down(false);
  expect(await child.exited).toBe("exit code 0");
  const stop = await stack.startWorker();
  cleanups.push(stop);
  await expectGrantedOnce(stack, "waits");
});
