/** Tests Request Cancellation of a hold whose run is lost before the store comes back. */
import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  expectReleased,
  holdAndBegin,
  holdReaches,
  holdRunOf,
  syncUntil,
} from "../../support/fixtures/holds.ts";
import { isPending, resetRun, showsDetails, statusOf } from "../../support/fixtures/operators.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

const losses: readonly [string, (handle: WorkflowHandle) => Promise<unknown>][] = [
  ["terminated", (handle) => handle.terminate("by mistake")],
  ["reset", (handle) => resetRun(stack, handle, "first")],
];

let stack: WorkerStack;
/** One absence of the store for all runs, because an attempt without it takes 5 s. */
beforeAll(async () => {
  stack = await startWorkerStack({ worker: false });
  const stopWorker = await stack.startWorker();
  const runs = await Promise.all(
    losses.map(async ([id, lose]) => {
      const handle = await holdAndBegin(stack, id, 3_600_000);
      await showsDetails(handle, "Held until");
      return { handle, lose };
    }),
  );
  stack.storeDown(true);
  await Promise.all(
    runs.map(async ({ handle }) => {
      await handle.cancel();
      await isPending(handle, "releaseHold", "SCHEDULED");
    }),
  );
  // Otherwise an attempt that is under way may release the hold.
  await stopWorker();
  for (const { handle, lose } of runs) await lose(handle);
  stack.storeDown(false);
  await stack.startWorker();
});
afterAll(() => stack.stop());

test.each(losses)("the run is %s before the release can be made again", async (id) => {
  await syncUntil(stack, 0, async () => {
    expect(await statusOf(holdRunOf(stack, id))).toBe("RUNNING");
  });
  await holdReaches(stack, id, "HELD");
  await holdRunOf(stack, id).cancel();
  await expectReleased(stack, id);
});
