/** Tests that reservations are granted whatever has happened to their runs. */

import { bundleWorkflowCode, DefaultLogger, NativeConnection } from "@temporalio/worker";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { pendingStartRef } from "../../../src/due/ports/records.ts";
import type { WorkerDeps } from "../../../src/hub/deps.ts";
import { createLogger } from "../../../src/platform/observe/log.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import {
  cancelReservation,
  rescheduleReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import { getReservation } from "../../../src/reservations/use-cases/queries.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import { createWorker } from "../../../src/worker.ts";
import { composeAs } from "../../support/deploy/compose-as.ts";
import { markedIds } from "../../support/fixtures/pending-starts.ts";
import {
  change,
  endsAsCanceled,
  eventsOf,
  expectGrantedOnce,
  handleOf,
  reserve,
  reserveAndBegin,
  reserveAndStart,
  stateOf,
} from "../../support/fixtures/reservations.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import {
  startWorkerStack,
  type WorkerStack,
  withoutTemporal,
  workflowBundle,
} from "../../support/servers/worker.ts";

const minute = 60_000;
const hour = 60 * minute;
const quiet = createLogger("test", "silent");

let stack: WorkerStack;
let stopWorker: (() => Promise<void>) | undefined;
beforeAll(async () => {
  // A worker that stops waits for grants that it holds.
  stack = await startWorkerStack({ worker: false, env: { MEGURI_DRAIN_SECONDS: "1" } });
});
afterEach(async () => {
  await stopWorker?.();
  stopWorker = undefined;
});
afterAll(() => stack.stop());

/** Starts a worker whose code or calls to Temporal differ from the stack's. */
async function startOtherWorker(
  options: {
    readonly workflowsPath?: string;
    readonly change?: (deps: WorkerDeps) => WorkerDeps;
  } = {},
): Promise<void> {
  const { config, workflows, metrics } = stack;
  const { workflowsPath, change = (deps: WorkerDeps) => deps } = options;
  const logger = new DefaultLogger("ERROR");
  const bundle = workflowsPath
    ? await bundleWorkflowCode({ workflowsPath, logger })
    : workflowBundle();
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  const { deps, close } = composeAs(["worker"], config, workflows, quiet, stack.clients);
  const parts = { connection, config, bundle, deps: change(deps), metrics, log: quiet };
  const worker = await createWorker(parts);
  const running = worker.run();
  stopWorker = async () => {
    worker.shutdown();
    await running;
    await close();
    await connection.close();
  };
}

/** The stack's dependencies at a later time. */
const later = (ms: number): WorkerDeps => ({
  ...stack.deps,
  clock: {
    async now() {
      const { wall, calendar } = await stack.deps.clock.now();
      return { wall: wall + ms, calendar: calendar + ms };
    },
  },
});

/** What a sweep does with overdue records. No other test of this file leaves any. */
const executeAll = () =>
  sweepAll(stack.deps, {
    onDone: () => {},
    onFailed: (_, error) => expect.unreachable(String(error)),
  });

/** What the reconciler does with runs, `ms` from now. */
const syncAll = (ms: number) =>
  syncRuns(later(ms), Date.now() - minute, (_, error) => expect.unreachable(String(error)));

async function recordOf(reservationId: string): Promise<Reservation> {
  const { deps, programId } = stack;
  return (await getReservation(deps, { programId, reservationId })).reservation;
}

/** The runs that are listed lag behind, so the check is repeated. */
async function isTerminatedByCheck(id: string, ms: number): Promise<void> {
  const handle = handleOf(stack, id);
  await eventually(async () => {
    await syncAll(ms);
    expect((await handle.describe()).status.name).toBe("TERMINATED");
  });
  const { events } = await handle.fetchHistory();
  const reason = events?.at(-1)?.workflowExecutionTerminatedEventAttributes?.reason;
  expect(reason).toBe("the reservation is DONE, and this run has made no progress for two minutes");
}

/**
 * Stops the worker while the run of `moved` and that of a new reservation wait, whose id it
 * returns. Where the machine was too slow for that, it begins again with a longer time.
 */
async function holdTillStopped(): Promise<string> {
  for (let inMs = 3_000; ; inMs *= 3) {
    stopWorker ??= await stack.startWorker();
    const id = `held-${inMs}`;
    await reserveAndStart(stack, { id, inMs });
    for (const waiting of [id, "moved"]) {
      await eventually(async () => {
        expect(await eventsOf(handleOf(stack, waiting))).toContain("activityTaskScheduled");
      });
    }
    await stopWorker();
    stopWorker = undefined;
    if ((await stateOf(stack, id)) === "PENDING") return id;
  }
}

describe("a run that makes no progress", () => {
  test("on a queue without workers is granted without it, and then terminated", async () => {
    const handle = await reserveAndStart(stack, { id: "unpolled", inMs: -5 * minute });
    expect(await executeAll()).toMatchObject({ overdue: 1, granted: 1 });
    await expectGrantedOnce(stack, "unpolled");
    await syncAll(minute);
    const { runId, status } = await handle.describe();
    expect(status.name).toBe("RUNNING");
    await isTerminatedByCheck("unpolled", 3 * minute);
    // The run that was terminated is not started again, because its record is done.
    await syncAll(3 * minute);
    expect((await handle.describe()).runId).toBe(runId);
  });

  test("after a careless deployment is granted by its activity, or without it", async () => {
    const { deps, programId } = stack;
    stopWorker = await stack.startWorker();
    await reserveAndBegin(stack, { id: "moved", inMs: hour });
    const held = await holdTillStopped();
    const executeTime = Date.now() - 5 * minute;
    const move = { ...change, programId, reservationId: "moved", executeTime };
    await rescheduleReservation(deps, move);
    const workflowsPath = `${import.meta.dirname}/../../support/fixtures/changed-workflows.ts`;
    await startOtherWorker({ workflowsPath });
    await expectGrantedOnce(stack, held);
    for (const id of [held, "moved"]) {
      await eventually(async () => {
        expect(await eventsOf(handleOf(stack, id))).toContain("workflowTaskFailed");
      });
    }
    expect(await stateOf(stack, "moved")).toBe("PENDING");
    expect(await executeAll()).toMatchObject({ overdue: 1, granted: 1 });
    await expectGrantedOnce(stack, "moved");
    await isTerminatedByCheck(held, 5 * minute);
    // The run could not write its earlier execute time, by which overdue runs are found.
    await isTerminatedByCheck("moved", hour + 5 * minute);
  });
});

describe("a call to Temporal that was lost", () => {
  test("when a reservation was created is made again", async () => {
    const { deps, programId } = stack;
    await reserve(withoutTemporal(deps), programId, { id: "unstarted", inMs: hour });
    const created = await recordOf("unstarted");
    expect(created).toMatchObject({ state: "PENDING" });
    await syncAll(9_000);
    await expect(handleOf(stack, "unstarted").describe()).rejects.toThrow();
    expect(await syncAll(11_000)).toMatchObject({ synced: 1 });
    expect((await handleOf(stack, "unstarted").describe()).status.name).toBe("RUNNING");
    expect(await recordOf("unstarted")).toEqual(created);
    expect(await syncAll(11_000)).toMatchObject({ synced: 0 });
  });

  test("is not needed for a grant", async () => {
    const { deps, programId } = stack;
    await reserve(withoutTemporal(deps), programId, { id: "never-started", inMs: -minute });
    expect(await executeAll()).toMatchObject({ overdue: 1, granted: 1, failed: 0 });
    await expectGrantedOnce(stack, "never-started");
    await expect(handleOf(stack, "never-started").describe()).rejects.toThrow();
  });

  test("when a reservation was moved or cancelled is made again", async () => {
    const { deps, programId } = stack;
    stopWorker = await stack.startWorker();
    await reserveAndStart(stack, { id: "lost-move", inMs: hour });
    await reserveAndStart(stack, { id: "lost-cancel", inMs: hour });
    // An earlier test has left the mark of a reservation that was granted without a run.
    await eventually(async () => {
      await syncAll(11_000);
      expect(await markedIds(deps, programId)).toEqual([]);
    });
    const executeTime = Date.now() + 2_000;
    const move = { ...change, programId, reservationId: "lost-move", executeTime };
    await rescheduleReservation(withoutTemporal(deps), move);
    const cancel = { ...change, programId, reservationId: "lost-cancel" };
    await cancelReservation(withoutTemporal(deps), cancel);
    expect(await syncAll(11_000)).toMatchObject({ synced: 2 });
    await expectGrantedOnce(stack, "lost-move");
    await endsAsCanceled(stack, "lost-cancel");
  });
});

/** What operators see of a run in the Web UI. */
async function detailsOf(workflowId: string): Promise<string> {
  const handle = stack.client.workflow.getHandle(workflowId);
  const metadata = await handle.query<{ currentDetails?: string }>("__temporal_workflow_metadata");
  return metadata.currentDetails ?? "";
}

test("the reconciler heals runs", async () => {
  const { deps, programId, client, config } = stack;
  stopWorker = await stack.startWorker();
  const terminated = await reserveAndStart(stack, { id: "terminated", inMs: hour });
  await terminated.terminate("a mistake");
  await reserve(withoutTemporal(deps), programId, { id: "unsent", inMs: hour });
  await age("unsent");
  const reconciler = await client.workflow.start("reconciler", {
    workflowId: "reconciler",
    taskQueue: config.taskQueue,
    args: [{}],
  });
  await eventually(async () => {
    expect((await handleOf(stack, "unsent").describe()).status.name).toBe("RUNNING");
    expect((await handleOf(stack, "terminated").describe()).status.name).toBe("RUNNING");
    const details = await detailsOf("reconciler");
    expect(details).toMatch(/^Pass of .*Z\. Runs: \d+ changes? sent again, \d+ started again, /);
    expect(details).toMatch(/ 0 terminated, 0 failed\. No month end is behind\.$/);
  });
  await reconciler.terminate();
});

/** Makes the mark of a reservation older than the time after which its run is started again. */
async function age(reservationId: string): Promise<void> {
  const ref = pendingStartRef({ programId: stack.programId, reservationId });
  await stack.deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    call: undefined,
    decide(tx) {
      const mark = tx.get(ref);
      if (mark) tx.put(ref, { ...mark, time: mark.time - minute });
    },
  });
}
