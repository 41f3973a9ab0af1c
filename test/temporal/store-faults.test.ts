/** The store on a bad day, at the moment when a reservation is due. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  eventsOf,
  expectGrantedOnce,
  freeze,
  handleOf,
  reaches,
  reserveAndStart,
  verified,
} from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

test("a store that is away is waited for, in sight of the operator", async () => {
  const { proxy } = stack;
  const handle = await reserveAndStart(stack, { id: "away", inMs: 1_500 });
  proxy.down(true);
  await eventually(async () => {
    const { raw } = await handle.describe();
    const failure = raw.pendingActivities?.[0]?.lastFailure;
    expect(failure?.applicationFailureInfo?.type).toBe("STORE_UNAVAILABLE");
    expect(failure?.message).not.toMatch(/AWS|DynamoDB|ECONN|socket/i);
    expect(failure?.stackTrace ?? "").toBe("");
  });
  expect(await handle.query("state")).toContain("tried again");
  proxy.down(false);
  await expectGrantedOnce(stack, "away");
  expect(await handle.result()).toMatchObject({ step: "DONE" });
});

test("a failure whose answer was lost stays a failure", async () => {
  const { proxy } = stack;
  await freeze(stack, "lost", true);
  proxy.faults({ lostAnswer: 1, operations: ["TransactWriteItems"] });
  const handle = await reserveAndStart(stack, { id: "lost" });
  await reaches(stack, "lost", "FAILED");
  // From here on a grant would be possible.
  await freeze(stack, "lost", false);
  await expect(handle.result()).rejects.toMatchObject({ cause: { type: "ACCOUNT_FROZEN" } });
  proxy.faults({});
  // The local attempt never got its answer, so the row was asked a second time.
  expect(await eventsOf(handle)).toContain("activityTaskScheduled");
  expect(await reaches(stack, "lost", "FAILED")).toMatchObject({
    failure: { reason: "ACCOUNT_FROZEN" },
  });
  expect(await verified(stack, "lost")).toMatchObject({ balance: 0 });
});

test("a grant whose answer was lost is one grant", async () => {
  const { proxy } = stack;
  proxy.faults({ lostAnswer: 0.5, delay: 0.5, operations: ["TransactWriteItems"] });
  const ids = Array.from({ length: 10 }, (_, i) => `half-${i}`);
  for (const id of ids) await reserveAndStart(stack, { id });
  for (const id of ids) await expectGrantedOnce(stack, id);
  proxy.faults({});
  for (const id of ids) expect(await handleOf(stack, id).result()).toMatchObject({ step: "DONE" });
});
