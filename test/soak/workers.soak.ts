/**
 * Tests worker processes beside chaos: how late grants of a killed one may be, a killed month end,
 * a worker that stands still during a pause, and a prebuilt bundle.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { asService } from "../../src/platform/words/caller.ts";
import { setTime } from "../../src/platform/work/test-clock.ts";
import type { MonthEndResult } from "../../src/points/contract/month-ends.ts";
import { pauseReadMs } from "../../src/points/rules/program.ts";
import { grantPoints } from "../../src/points/use-cases/commands.ts";
import {
  pauseProgramReservations,
  resumeProgramReservations,
} from "../../src/reservations/use-cases/pause.ts";
import { bundleWorkflows } from "../../src/worker/bundle.ts";
import type { Child } from "../../tools/dev/stack/child.ts";
import { expectNothingGranted, showsDetails } from "../support/fixtures/operators.ts";
import {
  eventsOf,
  expectGrantedOnce,
  handleOf,
  reserveAndStart,
  stateOf,
  verified,
} from "../support/fixtures/reservations.ts";
import { usersOfShard } from "../support/fixtures/shards.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { inForm } from "../support/soak.ts";

let stack: WorkerStack;
/** Those of the test, which end with it: one that went on would take the work of the next test. */
const workers: Child[] = [];
beforeAll(async () => {
  stack = await startWorkerStack({
    store: "proxied dynamodb",
    worker: false,
    testClock: true,
    lifetime: 3,
  });
});
afterEach(async () => {
  stack.proxy.faults({});
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});
afterAll(() => stack.stop());

const ids = (name: string, count = 20) => Array.from({ length: count }, (_, i) => `${name}-${i}`);

/** Starts a worker as a process of its own. */
async function startWorker(env?: Readonly<Record<string, string>>): Promise<Child> {
  const worker = await stack.startWorkerProcess(env);
  workers.push(worker);
  return worker;
}

/** Expects one grant of each. How late they are depends on the machine, so it is only shown. */
async function expectGrantedInTime(ids: readonly string[]): Promise<void> {
  const lateMs: number[] = [];
  for (const id of ids) {
    const { executeTime, grant } = await expectGrantedOnce(stack, id);
    lateMs.push((grant?.time ?? 0) - executeTime);
  }
  console.log(`${ids[0]} and others: at most ${Math.max(...lateMs)} ms late`);
}

/**
 * Reserves 40 grants, and waits until a worker holds the activity of each. A busy machine may come
 * to one only after its time: others are then reserved, for twice as late. Returns their ids.
 */
async function reserveUntilHeld(): Promise<string[]> {
  for (let inMs = 6_000; ; inMs *= 2) {
    const held = ids(`held-${inMs}`, 40);
    if (await areHeld(await Promise.all(held.map((id) => reserveAndStart(stack, { id, inMs })))))
      return held;
  }
}

async function areHeld(handles: readonly WorkflowHandle[]): Promise<boolean> {
  for (const handle of handles) {
    const isHeld = await eventually(async () => {
      const { raw, status } = await handle.describe();
      if (status.name === "COMPLETED") return false;
      expect(raw.pendingActivities?.some(({ state }) => state === started)).toBe(true);
      return true;
    });
    if (!isHeld) return false;
  }
  return true;
}

/** Of `temporal.api.enums.v1.PendingActivityState`. */
const started = 2;

test("one of two workers killed with held grants leaves them to the other one", async () => {
  const [killed] = await Promise.all([startWorker(), startWorker()]);
  const held = await reserveUntilHeld();
  await killed.killHard();
  await expectGrantedInTime(held);
});

test("a worker completes reservations of one moment", async () => {
  await startWorker();
  const burst = ids("burst", inForm({ short: 30, long: 100 }));
  const due = Date.now() + 12_000;
  await Promise.all(burst.map((id) => reserveAndStart(stack, { id, inMs: due - Date.now() })));
  let late = 0;
  for (const id of burst) {
    await expectGrantedOnce(stack, id);
    await handleOf(stack, id).result();
    const events = await eventsOf(handleOf(stack, id));
    if (events.includes("workflowTaskTimedOut")) late += 1;
  }
  // A task that waits for 10 s leaves the sticky queue: a matter of the machine, so only shown.
  console.log(`${late} of ${burst.length} runs had a task that was too late for the sticky queue`);
});

test("a worker killed during a month-end sweep is continued by the next one", async () => {
  const { deps, programId, proxy, client, config } = stack;
  await setTime(deps, Date.UTC(2027, 0, 10));
  const userIds = usersOfShard(0, 4 * 32);
  for (let i = 0; i < userIds.length; i += 16) {
    await Promise.all(userIds.slice(i, i + 16).map((userId) => grantTo(userId)));
  }
  await setTime(deps, Date.UTC(2027, 3, 1));
  let transactions = 0;
  proxy.onRequest((operation) => {
    if (operation === "TransactWriteItems") transactions += 1;
  });
  // A page of 32 accounts takes so long that its heartbeat is sent before the next page.
  proxy.faults({ delay: 1, delayMs: [1_500, 1_500], operations: ["TransactWriteItems"] });
  const worker = await startWorker();
  const handle = await client.workflow.start("monthEnd", {
    workflowId: "month-end-killed",
    taskQueue: config.taskQueue,
    args: [{ program_id: programId }],
  });
  await eventually(async () => expect(transactions).toBeGreaterThan(3 * 32));
  await worker.killHard();
  proxy.onRequest(undefined);
  proxy.faults({});
  await startWorker();
  const { expired } = (await handle.result()) as MonthEndResult;
  for (const userId of userIds) {
    expect(await verified(stack, userId)).toEqual({ balance: 0, entries: 2 });
  }
  // From the start, the next worker would have counted only the accounts that were left.
  expect(expired).toBeGreaterThanOrEqual(2 * 32);
});

test("a worker that stands still in a grant until after a pause grants nothing", async () => {
  const { deps, programId, proxy } = stack;
  const { pid } = await startWorker();
  const change = { programId, caller: asService("tests"), reason: "", deadline: undefined };
  const handle = await reserveAndStart(stack, { id: "frozen", inMs: 3_000 });
  const stopped = new Promise<void>((resolve) => {
    proxy.onRequest((operation, body) => {
      // The grant reads account and reservation together, after it has read the program.
      if (operation !== "BatchGetItem" || !body.includes("frozen")) return;
      proxy.onRequest(undefined);
      process.kill(pid, "SIGSTOP");
      resolve();
    });
  });
  await stopped;
  try {
    await pauseProgramReservations(deps, change);
    await sleep(pauseReadMs);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await showsDetails(handle, "The program is paused");
  await expectNothingGranted(stack, "frozen");
  await resumeProgramReservations(deps, change);
  await expectGrantedOnce(stack, "frozen");
});

function grantTo(userId: string) {
  const { deps, programId } = stack;
  const event = {
    programId,
    userId,
    eventId: "january",
    reason: "",
    caller: asService("tests"),
    points: 5,
  };
  return patiently(() => grantPoints(deps, { ...event, deadline: undefined }));
}

test("a process with a prebuilt bundle exports the lateness and stops on SIGTERM", async () => {
  const folder = await mkdtemp(join(tmpdir(), "meguri-bundle-"));
  const file = join(folder, "workflows.js");
  await writeFile(file, (await bundleWorkflows()).code);
  const worker = await startWorker({ MEGURI_WORKFLOW_BUNDLE: file });
  await reserveAndStart(stack, { id: "measured" });
  await eventually(async () => expect(await stateOf(stack, "measured")).toBe("DONE"));
  const ready = worker
    .lastOutput()
    .split("\n")
    .map((line) => JSON.parse(line));
  const port = ready.find(({ msg }) => msg === "ready").metricsPort;
  await eventually(async () => {
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(page).toContain('meguri_reservation_lateness_seconds_count{cause="due"} 1\n');
  });
  expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
  expect(ready.filter(({ level }) => level >= 40)).toEqual([]);
  await worker.stop();
  expect(await worker.exited).toBe("exit code 0");
  await rm(folder, { recursive: true });
});
