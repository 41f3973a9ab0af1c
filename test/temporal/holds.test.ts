/** Tests that a hold ends at its time, or before, whatever happens to its run. */
import { type WorkflowHandle, WorkflowNotFoundError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { capturePoints, releaseHold } from "../../src/app/holds/commands.ts";
import { startHoldRun } from "../../src/app/holds/start-run.ts";
import type { Deps } from "../../src/app/ports/deps.ts";
import { executeOverdue } from "../../src/app/reservations/reconcile.ts";
import { syncRuns } from "../../src/app/reservations/sync-runs.ts";
import { createLogger } from "../../src/log.ts";
import { createWorkflows } from "../../src/temporal/workflows.ts";
import {
  actBeforeItsTime,
  holdAndStart,
  holdCall,
  holdReaches,
  holdRunOf,
  holdWithoutRun,
} from "../support/fixtures/holds.ts";
import {
  inputOf,
  isPending,
  listed,
  resetRun,
  showsDetails,
  statusOf,
} from "../support/fixtures/operators.ts";
import { markedIds } from "../support/fixtures/pending-starts.ts";
import { freeze, runEndsAsCanceled, verified } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack, withoutTemporal } from "../support/servers/worker.ts";

const minute = 60_000;
const hour = 60 * minute;

let stack: WorkerStack;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  stopWorker = await stack.startWorker();
});
afterAll(() => stack.stop());

const capture = (id: string, points?: number, deps: Deps = stack.deps) =>
  capturePoints(deps, { ...holdCall(stack, id), eventId: "c", points, moreFollow: false });

/** The account of a hold that was released, by one RELEASED entry. */
const released = { balance: 100, entries: 3 };

async function expectTimedOut(id: string): Promise<void> {
  const hold = await holdReaches(stack, id, "EXPIRED");
  expect(hold.updateTime).toBeGreaterThanOrEqual(hold.until);
  expect(await verified(stack, id)).toEqual(released);
}

/** The stack's dependencies at a later time. */
const later = (ms: number): Deps => ({
  ...stack.deps,
  clock: {
    async now() {
      const { wall, calendar } = await stack.deps.clock.now();
      return { wall: wall + ms, calendar: calendar + ms };
    },
  },
});

const executeAll = (deps: Deps) =>
  executeOverdue(
    deps,
    { overdue: 0, oldestMs: 0, granted: 0, refused: 0, failed: 0, failures: [] },
    () => true,
    { onDone: () => {}, onFailed: (_, error) => expect.unreachable(String(error)) },
  );

/** Lists lag behind, so the check of the runs is repeated until it has done what is expected. */
const syncUntil = (ms: number, check: () => Promise<void>) =>
  eventually(async () => {
    await syncRuns(later(ms), Date.now() - 10 * minute, (_, error) =>
      expect.unreachable(String(error)),
    );
    await check();
  });

describe("the run of a hold", () => {
  test("releases it at its time, not before, and says so", async () => {
    const handle = await holdAndStart(stack, "due", 1_500);
    await expectTimedOut("due");
    expect(await handle.result()).toMatchObject({
      state: "EXPIRED",
      captured_points: 0,
      released_points: 10,
    });
    await showsDetails(handle, "0 captured, 10 released");
    await eventually(async () =>
      expect(await listed(stack, 'MeguriUser = "due" AND MeguriState = "EXPIRED"')).toEqual([
        handle.workflowId,
      ]),
    );
  });

  test("shows operators who holds how much until when, and why", async () => {
    const handle = await holdAndStart(stack, "shown", hour);
    const details = await showsDetails(handle, "10 points of shown. Held until 20");
    expect(details).toContain("reason: test");
    expect(details).toContain("held by: ren via tests");
    expect(details).toContain("**Request Cancellation** releases");
    expect(await inputOf(handle)).toMatchObject({ user_id: "shown", points: 10, reason: "test" });
    const query =
      'MeguriUser = "shown" AND MeguriPoints = 10 AND MeguriCaller = "tests"' +
      ` AND MeguriExecuteTime > "${new Date().toISOString()}"`;
    await eventually(async () => expect(await listed(stack, query)).toEqual([handle.workflowId]));
  });

  test("ends with a capture", async () => {
    const handle = await holdAndStart(stack, "captured", hour);
    await showsDetails(handle, "Held until");
    await capture("captured", 4);
    expect(await handle.result()).toMatchObject({ captured_points: 4, released_points: 6 });
    await showsDetails(handle, "Ended by a capture: 4 captured, 6 released");
    expect(await verified(stack, "captured")).toEqual({ balance: 96, entries: 4 });
    const query = 'MeguriUser = "captured" AND MeguriState IS NULL';
    await eventually(async () => expect(await listed(stack, query)).toEqual([handle.workflowId]));
  });

  test("that is started after the capture ends at once", async () => {
    const hold = await holdWithoutRun(stack, "early", hour);
    await capture("early");
    await startHoldRun(stack.deps, hold);
    expect(await holdRunOf(stack, "early").result()).toMatchObject({ state: "CAPTURED" });
  });

  test("ends with a release", async () => {
    const handle = await holdAndStart(stack, "released", hour);
    await showsDetails(handle, "Held until");
    const caller = { service: "desk", subject: "yuki" };
    const call = { ...holdCall(stack, "released"), caller, reason: "order *7* is cancelled" };
    await releaseHold(stack.deps, call);
    const release = { caller, reason: call.reason };
    expect(await handle.result()).toMatchObject({
      state: "RELEASED",
      released_points: 10,
      release,
    });
    await showsDetails(
      handle,
      "Released by yuki via desk (order \\*7\\* is cancelled): 0 captured, 10 released.",
    );
  });

  test("releases a hold of a frozen account", async () => {
    await holdAndStart(stack, "frozen", 1_500);
    await freeze(stack, "frozen", true);
    await holdReaches(stack, "frozen", "EXPIRED");
    expect(await verified(stack, "frozen")).toEqual({ balance: 100, entries: 4 });
  });

  test("waits for a store that is away", async () => {
    const storeDown = async (isDown: boolean) => stack.storeDown(isDown);
    const { id, handle } = await actBeforeItsTime(
      stack,
      "away",
      () => storeDown(true),
      () => storeDown(false),
    );
    try {
      await isPending(handle, "timeOutHold", "SCHEDULED");
    } finally {
      stack.storeDown(false);
    }
    await expectTimedOut(id);
  });
});

async function expectReleased(id: string): Promise<void> {
  await runEndsAsCanceled(holdRunOf(stack, id));
  await holdReaches(stack, id, "RELEASED");
  expect(await verified(stack, id)).toEqual(released);
}

/** Requests the cancellation of a hold's run, and does more before the store can release it. */
async function cancelWhileAway(
  id: string,
  more: (handle: WorkflowHandle) => Promise<void>,
): Promise<void> {
  const handle = await holdAndStart(stack, id, hour);
  await showsDetails(handle, "Held until");
  stack.storeDown(true);
  try {
    await handle.cancel();
    await isPending(handle, "releaseHold", "SCHEDULED");
    await more(handle);
  } finally {
    stack.storeDown(false);
  }
}

describe("Request Cancellation", () => {
  test("releases a hold", async () => {
    const handle = await holdAndStart(stack, "canceled", hour);
    await showsDetails(handle, "Held until");
    await handle.cancel();
    await expectReleased("canceled");
    expect(await statusOf(handle)).toBe("CANCELLED");
  });

  test("that comes while the store is away releases the hold when it is back", async () => {
    await cancelWhileAway("cancel-away", async () => {});
    await expectReleased("cancel-away");
  });

  test.each([
    ["terminated", (handle: WorkflowHandle) => handle.terminate("by mistake")],
    ["reset", (handle: WorkflowHandle) => resetRun(stack, handle, "first")],
  ])("whose run is %s before the release can be made again", async (what, change) => {
    const id = `cancel-${what}`;
    await cancelWhileAway(id, async (handle) => {
      // Otherwise an attempt that is under way may release the hold.
      await stopWorker();
      await change(handle);
    });
    stopWorker = await stack.startWorker();
    await syncUntil(0, async () => {
      expect(await statusOf(holdRunOf(stack, id))).toBe("RUNNING");
    });
    await showsDetails(holdRunOf(stack, id), "Held until");
    await holdReaches(stack, id, "HELD");
    await holdRunOf(stack, id).cancel();
    await expectReleased(id);
  });

  test("is not needed again by a run that is reset after it", async () => {
    const handle = await holdAndStart(stack, "canceled-reset", hour);
    await showsDetails(handle, "Held until");
    await handle.cancel();
    await expectReleased("canceled-reset");
    const again = await resetRun(stack, handle, "first");
    await again.result().catch(() => {});
    await showsDetails(
      again,
      "Released by temporal (cancellation requested in Temporal): 0 captured",
    );
    expect(await verified(stack, "canceled-reset")).toEqual(released);
  });

  test("that comes after a capture changes nothing", async () => {
    const handle = await holdAndStart(stack, "too-late", hour);
    await showsDetails(handle, "Held until");
    await capture("too-late", 10, withoutTemporal(stack.deps));
    await handle.cancel();
    expect(await handle.result()).toMatchObject({ state: "CAPTURED", captured_points: 10 });
    expect(await verified(stack, "too-late")).toEqual({ balance: 90, entries: 3 });
  });
});

/** The dependencies of a server that does not reach Temporal, and the end of its tasks. */
function cutOff() {
  const { temporalNamespace: namespace, taskQueue } = stack.config;
  const log = createLogger("test", "silent");
  const workflows = createWorkflows({ address: "127.0.0.1:1", namespace, taskQueue, log });
  onTestFinished(() => workflows.close());
  const tasks: Promise<void>[] = [];
  const background = (task: () => Promise<void>) => void tasks.push(task().catch(() => {}));
  return { deps: { ...stack.deps, workflows, background }, ended: () => Promise.all(tasks) };
}

describe("while Temporal is away", () => {
  test("a hold is made, and has its run soon after", async () => {
    const { deps, ended } = cutOff();
    await holdWithoutRun(stack, "made-first", hour, deps);
    await ended();
    // Its task is lost with its process.
    await holdWithoutRun(stack, "made-next", hour, { ...deps, background: () => {} });
    const ids = ["made-first", "made-next"];
    expect((await markedIds(stack.deps, stack.programId)).toSorted()).toEqual(ids);
    await syncUntil(11_000, async () => {
      for (const id of ids) expect(await statusOf(holdRunOf(stack, id))).toBe("RUNNING");
    });
    for (const id of ids) await showsDetails(holdRunOf(stack, id), "Held until");
    expect(await markedIds(stack.deps, stack.programId)).toEqual([]);
  });

  test("a hold is captured, and its run ends soon after", async () => {
    const handle = await holdAndStart(stack, "captured-away", hour);
    await showsDetails(handle, "Held until");
    const { deps, ended } = cutOff();
    await capture("captured-away", 10, deps);
    await ended();
    await syncUntil(11_000, async () => expect(await statusOf(handle)).toBe("COMPLETED"));
    expect(await handle.result()).toMatchObject({ state: "CAPTURED", captured_points: 10 });
  });
});

describe("whatever happened to its run", () => {
  test("a hold without one is released by the reconciler", async () => {
    await holdWithoutRun(stack, "no-run", -16_000);
    await holdWithoutRun(stack, "not-yet", -1_000);
    expect(await executeAll(stack.deps)).toMatchObject({ overdue: 1, released: 1, failed: 0 });
    await expectTimedOut("no-run");
    await holdReaches(stack, "not-yet", "HELD");
  });

  test("a terminated one is started again, and releases the hold", async () => {
    const { id } = await actBeforeItsTime(stack, "terminated", (handle) =>
      handle.terminate("by mistake").catch((error: unknown) => {
        // The run has ended, as the time of the hold has come.
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }),
    );
    await syncUntil(0, async () => {
      expect(await statusOf(holdRunOf(stack, id))).not.toBe("TERMINATED");
    });
    await expectTimedOut(id);
    expect(await holdRunOf(stack, id).result()).toMatchObject({ state: "EXPIRED" });
  });

  test("a terminated one of a hold that has ended stays so", async () => {
    const handle = await holdAndStart(stack, "ended", hour);
    await handle.terminate("by mistake");
    await capture("ended");
    await syncRuns(stack.deps, Date.now() - minute, () => expect.unreachable());
    expect(await statusOf(holdRunOf(stack, "ended"))).toBe("TERMINATED");
  });

  test("a reset of one that has ended changes nothing", async () => {
    const handle = await holdAndStart(stack, "reset", 1_000);
    await handle.result();
    const again = await resetRun(stack, handle, "first");
    expect(await again.result()).toMatchObject({ state: "EXPIRED", released_points: 10 });
    expect(await verified(stack, "reset")).toEqual(released);
  });

  test("a reset of one that waits has the hold released once", async () => {
    const { id } = await actBeforeItsTime(stack, "reset-held", (handle) =>
      resetRun(stack, handle, "first"),
    );
    expect(await holdRunOf(stack, id).result()).toMatchObject({ state: "EXPIRED" });
    await expectTimedOut(id);
  });

  test("one without a worker at its time goes on with the next worker", async () => {
    const startWorker = async () => {
      stopWorker = await stack.startWorker();
    };
    const { id, handle } = await actBeforeItsTime(
      stack,
      "no-worker",
      () => stopWorker(),
      startWorker,
    );
    const { until } = await holdReaches(stack, id, "HELD");
    await new Promise((resolve) => setTimeout(resolve, until - Date.now() + 500));
    await holdReaches(stack, id, "HELD");
    await startWorker();
    await expectTimedOut(id);
    expect(await handle.result()).toMatchObject({ state: "EXPIRED" });
  });

  test("one that makes no progress is terminated when the hold has ended", async () => {
    await stopWorker();
    const handle = await holdAndStart(stack, "stuck", -20_000);
    await executeAll(stack.deps);
    await holdReaches(stack, "stuck", "EXPIRED");
    await syncUntil(3 * minute, async () => expect(await statusOf(handle)).toBe("TERMINATED"));
    stopWorker = await stack.startWorker();
    await expectTimedOut("stuck");
  });
});
