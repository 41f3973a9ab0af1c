/** Tests that one of several servers ensures the schedules, at a pace, and another if it dies. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { Deps } from "../../src/hub/deps.ts";
import { createLogger } from "../../src/platform/observe/log.ts";
import { scheduleRequestsPerSecond } from "../../src/platform/temporal/connection.ts";
import { createLease } from "../../src/platform/work/lease.ts";
import { monthEndId } from "../../src/points/contract/month-ends.ts";
import { programRef } from "../../src/points/ports/records.ts";
import { ensuringPauses, keepEnsuringSchedules } from "../../src/temporal/keep-schedules.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { createWorkflows } from "../../src/temporal/workflows.ts";
import { heldLease } from "../support/fixtures/held-lease.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { memoryDeps } from "../support/stores/memory-store.ts";

const log = createLogger("test", "silent");

/** So that the schedules are checked all the time. */
const pauses = { ...ensuringPauses, ensuredMs: 10, failedMs: 10 };

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
});
afterAll(() => stack.stop());

/** A store with some programs, which several servers share. */
function createStore(programs: number) {
  const memory = memoryDeps();
  const ids = Array.from({ length: programs }, () => `p-${randomUUID().slice(0, 8)}`);
  for (const programId of ids) addProgram(memory, programId);
  return { ...memory, ids };
}

function addProgram({ store }: Pick<ReturnType<typeof memoryDeps>, "store">, programId: string) {
  const lifetimes = [{ lifetimeMonths: 3, effectiveTime: 0 }];
  store.force(programRef(programId), {
    programId,
    timeZone: "Asia/Tokyo",
    lifetimes,
    createTime: 0,
  });
}

/** The client side of Temporal of one server, and when it has sent requests about schedules. */
function connect(address = stack.config.temporalAddress) {
  const { temporalNamespace: namespace, taskQueue } = stack.config;
  const workflows = createWorkflows({ address, namespace, taskQueue, log });
  onTestFinished(() => workflows.close());
  const { workflowService } = workflows.link.connection;
  const requests: number[] = [];
  for (const method of ["describeSchedule", "createSchedule"] as const) {
    const send = workflowService[method].bind(workflowService) as (request: object) => unknown;
    const record = (request: object) => {
      requests.push(performance.now());
      return send(request);
    };
    vi.spyOn(workflowService, method).mockImplementation(record as never);
  }
  return { workflows, requests };
}

/** A server that keeps the schedules ensured. */
function startServer(
  deps: Deps,
  { address, handOverMs = 60_000, isCutOff = false }: Partial<Options> = {},
) {
  const { workflows, requests } = connect(address);
  const link = { isCutOff };
  const engine: Deps["engine"] = {
    transact: (request) =>
      link.isCutOff ? Promise.reject(new Error("cut off")) : deps.engine.transact(request),
  };
  const timing = { heartbeatMs: 50, deadMs: 5_000 };
  const lease = createLease({ engine, reader: deps.reader }, "schedules", log, timing);
  const own = { ...pauses, handOverMs };
  const ensured = keepEnsuringSchedules(workflows, deps.reader, lease, [], own);
  onTestFinished(() => ensured.stop());
  return { ensured, requests, lease, link };
}

interface Options {
  readonly address: string;
  readonly handOverMs: number;
  /** Whether it does not reach the lease. */
  readonly isCutOff: boolean;
}

type Server = ReturnType<typeof startServer>;

/** Waits until a server has sent more requests than a pass over two programs needs. */
async function ensures({ requests }: Server): Promise<void> {
  const before = requests.length;
  await eventually(async () => expect(requests.length).toBeGreaterThan(before + 6));
}

/** Expects that these servers send nothing while the other one ensures the schedules. */
async function expectAlone(server: Server, others: readonly Server[]): Promise<void> {
  for (const { lease } of others) {
    await eventually(async () => expect(lease.isElsewhere()).toBe(true));
  }
  // A request that was waiting for its turn is still sent.
  await ensures(server);
  const before = others.map(({ requests }) => requests.length);
  await ensures(server);
  expect(others.map(({ requests }) => requests.length)).toEqual(before);
}

test("a server that cannot take the lease counts as one without ensured schedules", async () => {
  const { ensured, link } = startServer(createStore(1).process(), { isCutOff: true });
  await eventually(async () => expect(ensured.notEnsured()).toBe(1));
  link.isCutOff = false;
  await eventually(async () => expect(ensured.notEnsured()).toBe(0));
});

test("of several servers the latest ensures the schedules, and another if it dies", async () => {
  const store = createStore(2);
  const first = startServer(store.process());
  await ensures(first);
  const second = startServer(store.process());
  await ensures(second);
  const third = startServer(store.process());
  await expectAlone(third, [first, second]);
  // A crash: nothing is released, and nothing is sent any more.
  third.link.isCutOff = true;
  const counts = new Map([first, second].map((each) => [each, each.requests.length]));
  const next = await eventually(async () => {
    const found = [...counts].find(([{ requests }, before]) => requests.length > before + 6);
    if (!found) throw new Error("nobody goes on yet");
    return found[0];
  });
  const waiting = next === first ? second : first;
  await third.ensured.stop();
  const added = `p-${randomUUID().slice(0, 8)}`;
  addProgram(store, added);
  await eventually(() => stack.client.schedule.getHandle(monthEndId(added)).describe());
  await expectAlone(next, [waiting]);
  await next.ensured.stop();
  await ensures(waiting);
});

test("a server that does not reach Temporal leaves the schedules to another one", async () => {
  const store = createStore(1);
  const first = startServer(store.process());
  await ensures(first);
  const unreachable = { address: "127.0.0.1:1", handOverMs: 200 };
  const second = startServer(store.process(), unreachable);
  await eventually(async () => expect(second.ensured.notEnsured()).toBe(1));
  await ensures(first);
  expect(first.ensured.notEnsured()).toBe(0);
});

test("no more requests about schedules are sent in a second than the pace allows", async () => {
  const { deps, ids } = createStore(8);
  const { workflows, requests } = connect();
  const start = performance.now();
  await patiently(() => ensureSchedules(workflows, deps.reader));
  expect(requests.length).toBeGreaterThanOrEqual(2 * ids.length);
  // Timers may fire a millisecond early.
  const slackMs = 50;
  requests.forEach((time, i) => {
    expect(time - start).toBeGreaterThan((i * 1_000) / scheduleRequestsPerSecond - slackMs);
  });
  expect(scheduleRequestsPerSecond).toBeLessThanOrEqual(10 / 2);
});

test("nothing is ensured any more when the check has been stopped", async () => {
  const { deps, ids } = createStore(50);
  const { workflows, requests } = connect();
  const ensured = keepEnsuringSchedules(workflows, deps.reader, heldLease());
  await eventually(async () => expect(requests.length).toBeGreaterThan(1));
  await ensured.stop();
  const last = ids.toSorted().at(-1) ?? "";
  const schedule = stack.client.schedule.getHandle(monthEndId(last));
  await expect(schedule.describe()).rejects.toThrow();
  expect(ensured.notEnsured()).toBe(0);
});
