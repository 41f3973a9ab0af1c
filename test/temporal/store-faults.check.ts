/** Tests reservations that become due while the store has faults. */
import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatInstant } from "../../src/platform/words/month.ts";
import { rescheduleReservation } from "../../src/reservations/use-cases/commands.ts";
import { isListed, recordOf, showsDetails } from "../support/fixtures/operators.ts";
import {
  change,
  eventsOf,
  expectGrantedOnce,
  freeze,
  handleOf,
  reaches,
  reserveAndBegin,
  reserveAndStart,
  verified,
} from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack({ store: "proxied dynamodb" });
});
afterAll(() => stack.stop());

test("an outage of the store is waited out, and operators see it", async () => {
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
  await eventually(async () => expect(await handle.query("details")).toContain("tried again"));
  proxy.down(false);
  await expectGrantedOnce(stack, "away");
  expect(await handle.result()).toMatchObject({ step: "DONE" });
});

test("a run says since when it is due while the store hangs and attempts time out", async () => {
  const { proxy } = stack;
  // Scheduled within its lead, so that an attempt times out sooner than a read gives up.
  const handle = await reserveAndStart(stack, { id: "hung", inMs: 1_000 });
  proxy.faults({ lostAnswer: 1, lostBy: "silence", operations: "all" });
  const { executeTime } = await recordOf(stack, "hung");
  const due = `Due since ${formatInstant(executeTime, "Asia/Tokyo")}, and tried again`;
  expect(await showsDetails(handle, due)).toContain("(STORE_UNAVAILABLE)");
  await isListed(stack, "hung", 'MeguriState = "RETRYING" AND MeguriReason = "STORE_UNAVAILABLE"');
  proxy.faults({});
  await expectGrantedOnce(stack, "hung");
  expect(await handle.result()).toMatchObject({ step: "DONE" });
});

test.each(["hangs", "refuses connections"])(
  "runs that are moved hold no workflow task while the store %s",
  async (fault) => {
    const { proxy, deps, programId } = stack;
    // More than a worker has slots for workflow tasks.
    const ids = Array.from({ length: 12 }, (_, n) => `${fault.replace(" ", "-")}-${n}`);
    const inMs = 3_600_000;
    const handles = await Promise.all(ids.map((id) => reserveAndBegin(stack, { id, inMs })));
    for (const handle of handles) await pendingIs(handle, "grantWhenDue", "NOT_DUE");
    if (fault === "hangs") proxy.faults({ lostAnswer: 1, lostBy: "silence", operations: "all" });
    else proxy.down(true);
    const executeTime = Date.now() + 2 * inMs;
    for (const reservationId of ids) {
      await rescheduleReservation(deps, { ...change, programId, reservationId, executeTime });
    }
    for (const handle of handles) await pendingIs(handle, "grantAgain", "STORE_UNAVAILABLE");
    // The time that the run knows.
    await showsDetails(handles[0] as WorkflowHandle, "Due at ");
    proxy.faults({});
    proxy.down(false);
    for (const handle of handles) await pendingIs(handle, "grantWhenDue", "NOT_DUE");
  },
);

/** Waits until a run has a pending activity of this type whose last attempt has failed so. */
const pendingIs = (handle: WorkflowHandle, type: string, failure: string) =>
  eventually(async () => {
    const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
    expect(pending?.activityType?.name).toBe(type);
    expect(pending?.lastFailure?.applicationFailureInfo?.type).toBe(failure);
  });

test("a refusal of the store is shown with AWS's code, and waited out", async () => {
  const { proxy } = stack;
  const handle = await reserveAndStart(stack, { id: "refused", inMs: 1_500 });
  proxy.refuse("KMSDisabledException", ["TransactWriteItems"]);
  const shown = await showsDetails(handle, "(STORE_REFUSES)");
  expect(shown).toMatch(/the store refuses TransactWriteItems on \S.*: KMSDisabledException/);
  expect(shown).not.toContain(stack.config.tablePrefix);
  await isListed(stack, "refused", 'MeguriState = "RETRYING" AND MeguriReason = "STORE_REFUSES"');
  proxy.refuse(undefined);
  await expectGrantedOnce(stack, "refused");
  expect(await handle.result()).toMatchObject({ step: "DONE" });
});

test("a worker that is slow is not taken for a dead one", async () => {
  const { proxy } = stack;
  const handle = await reserveAndStart(stack, { id: "slow", inMs: 1_500 });
  // Longer than a killed worker's grant waits, and shorter than a store counts as silent.
  proxy.faults({ delay: 1, delayMs: [1_700, 1_700], operations: ["TransactWriteItems"] });
  await expectGrantedOnce(stack, "slow");
  proxy.faults({});
  expect(await handle.result()).toMatchObject({ step: "DONE" });
  const { events } = await handle.fetchHistory();
  // A machine that is busy as well makes the store count as silent, and another activity follows.
  const [held] = events?.flatMap((event) => event.activityTaskStartedEventAttributes ?? []) ?? [];
  expect(held).toMatchObject({ attempt: 1 });
});

test("a failure with an ambiguous result stays a failure", async () => {
  const { proxy } = stack;
  await freeze(stack, "lost", true);
  proxy.faults({ lostAnswer: 1, operations: ["TransactWriteItems"] });
  const handle = await reserveAndStart(stack, { id: "lost" });
  await reaches(stack, "lost", "FAILED");
  // From now on a grant would succeed.
  await freeze(stack, "lost", false);
  await expect(handle.result()).rejects.toMatchObject({ cause: { type: "ACCOUNT_FROZEN" } });
  proxy.faults({});
  // The local activity got no answer, so that a second activity has read the record.
  expect(await eventsOf(handle)).toContain("activityTaskScheduled");
  expect(await reaches(stack, "lost", "FAILED")).toMatchObject({
    failure: { reason: "ACCOUNT_FROZEN" },
  });
  expect(await verified(stack, "lost")).toMatchObject({ balance: 0 });
});

test("a grant with an ambiguous result is made once", async () => {
  const { proxy } = stack;
  proxy.faults({ lostAnswer: 0.5, delay: 0.5, operations: ["TransactWriteItems"] });
  const ids = Array.from({ length: 10 }, (_, i) => `half-${i}`);
  for (const id of ids) await reserveAndStart(stack, { id });
  for (const id of ids) await expectGrantedOnce(stack, id);
  proxy.faults({});
  for (const id of ids) expect(await handleOf(stack, id).result()).toMatchObject({ step: "DONE" });
});
