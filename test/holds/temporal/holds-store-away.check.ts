/** Tests that a hold is released although the store is away when its time or an operator comes. */
import { afterAll, beforeAll, test } from "vitest";
import {
  actBeforeItsTime,
  expectReleased,
  expectTimedOut,
  holdAndBegin,
  holdReaches,
} from "../../support/fixtures/holds.ts";
import { isPending, showsDetails } from "../../support/fixtures/operators.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

const cancelled = "cancelled";

let stack: WorkerStack;
let due: string;
/** One absence of the store for both runs, because an attempt without it takes 5 s. */
beforeAll(async () => {
  stack = await startWorkerStack();
  const storeDown = async (isDown: boolean) => stack.storeDown(isDown);
  const toCancel = await holdAndBegin(stack, cancelled, 3_600_000);
  await showsDetails(toCancel, "Held until");
  const { id, handle } = await actBeforeItsTime(
    stack,
    "due",
    () => storeDown(true),
    () => storeDown(false),
  );
  due = id;
  await toCancel.cancel();
  await Promise.all([
    isPending(handle, "timeOutHold", "SCHEDULED"),
    isPending(toCancel, "releaseHold", "SCHEDULED"),
  ]);
  for (const each of [due, cancelled]) await holdReaches(stack, each, "HELD");
  stack.storeDown(false);
});
afterAll(() => stack.stop());

test("the run of a hold waits for a store that is away", () => expectTimedOut(stack, due));

test("Request Cancellation while the store is away releases the hold when it is back", () =>
  expectReleased(stack, cancelled));
