/** Tests that a hold ends at its time, whatever happened to its run or to its worker. */
import { WorkflowNotFoundError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Deps } from "../../../src/hub/deps.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import {
  actBeforeItsTime,
  capture,
  expectTimedOut,
  holdAndBegin,
  holdAndStart,
  holdReaches,
  holdRunOf,
  holdWithoutRun,
  released,
  setUntil,
  syncUntil,
} from "../../support/fixtures/holds.ts";
import { resetRun, showsDetails, statusOf } from "../../support/fixtures/operators.ts";
import { verified } from "../../support/fixtures/reservations.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

const minute = 60_000;
const hour = 60 * minute;

let stack: WorkerStack;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  stopWorker = await stack.startWorker();
});
afterAll(() => stack.stop());

const executeAll = (deps: Deps) =>
  sweepAll(deps, {
    onDone: () => {},
    onFailed: (_, error) => expect.unreachable(String(error)),
  });

/** Waits until the query that docs/run/reservations.md has for what has timed out finds a hold. */
const listedAsTimedOut = (id: string) =>
  eventually(async () => {
    const query = 'WorkflowType = "hold" AND MeguriState = "EXPIRED"';
    const ids: string[] = [];
    for await (const { workflowId } of stack.client.workflow.list({ query })) ids.push(workflowId);
    expect(ids).toContain(holdRunOf(stack, id).workflowId);
  });

describe("whatever happened to its run", () => {
  test("a hold without one is released by a sweep", async () => {
    await holdWithoutRun(stack, "no-run", -16_000);
    await holdWithoutRun(stack, "not-yet", hour);
    expect(await executeAll(stack.deps)).toMatchObject({ overdue: 1, released: 1, failed: 0 });
    await expectTimedOut(stack, "no-run");
    await holdReaches(stack, "not-yet", "HELD");
    await listedAsTimedOut("no-run");
  });

  test("one that sleeps on is signalled by the sweep that has released the hold", async () => {
    const handle = await holdAndBegin(stack, "asleep", hour);
    await showsDetails(handle, "Held until");
    await setUntil(stack, "asleep", Date.now() - 16_000);
    await executeAll(stack.deps);
    expect(await handle.result()).toMatchObject({ state: "EXPIRED", released_points: 10 });
    await expectTimedOut(stack, "asleep");
    await listedAsTimedOut("asleep");
  });

  test("a terminated one is started again, and releases the hold", async () => {
    const { id } = await actBeforeItsTime(stack, "terminated", (handle) =>
      handle.terminate("by mistake").catch((error: unknown) => {
        // The run has ended, as the time of the hold has come.
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }),
    );
    await syncUntil(stack, 0, async () => {
      expect(await statusOf(holdRunOf(stack, id))).not.toBe("TERMINATED");
    });
    await expectTimedOut(stack, id);
    expect(await holdRunOf(stack, id).result()).toMatchObject({ state: "EXPIRED" });
  });

  test("a terminated one of a hold that has ended stays so", async () => {
    const handle = await holdAndBegin(stack, "ended", hour);
    await handle.terminate("by mistake");
    await capture(stack, "ended");
    await syncRuns(stack.deps, Date.now() - minute, () => expect.unreachable());
    expect(await statusOf(holdRunOf(stack, "ended"))).toBe("TERMINATED");
  });

  test("a reset of one that has ended changes nothing", async () => {
    const handle = await holdAndStart(stack, "reset", 0);
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
    await expectTimedOut(stack, id);
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
    await expectTimedOut(stack, id);
    expect(await handle.result()).toMatchObject({ state: "EXPIRED" });
  });

  test("one that makes no progress is terminated when the hold has ended", async () => {
    await stopWorker();
    const handle = await holdAndStart(stack, "stuck", -20_000);
    await executeAll(stack.deps);
    await holdReaches(stack, "stuck", "EXPIRED");
    await syncUntil(stack, 3 * minute, async () =>
      expect(await statusOf(handle)).toBe("TERMINATED"),
    );
    stopWorker = await stack.startWorker();
    await expectTimedOut(stack, "stuck");
    await syncUntil(stack, 3 * minute, async () =>
      expect(await statusOf(handle)).toBe("COMPLETED"),
    );
    await listedAsTimedOut("stuck");
  });
});
