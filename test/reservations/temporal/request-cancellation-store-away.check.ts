/** Tests Request Cancellation of a reservation that is tried again while the store is away. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  expectCancelledByOperator,
  isPending,
  recordOf,
} from "../../support/fixtures/operators.ts";
import { reserveAndStart } from "../../support/fixtures/reservations.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

test("it is cancelled once the store is back", async () => {
  stack.storeDown(true);
  // So long due that it is tried again at once.
  const handle = await reserveAndStart(stack, { id: "retrying", inMs: -5_000 });
  await isPending(handle, "grantAgain", "SCHEDULED");
  await handle.cancel();
  await isPending(handle, "cancelReservation", "SCHEDULED");
  expect(await recordOf(stack, "retrying")).toMatchObject({ state: "PENDING" });
  stack.storeDown(false);
  await expectCancelledByOperator(stack, "retrying");
});
