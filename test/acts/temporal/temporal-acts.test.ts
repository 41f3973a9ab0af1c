/** Tests that what people change by Temporal writes acts, whose callers nobody has verified. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { recentActs } from "../../support/acts/list.ts";
import {
  approve,
  bulkGrantRun,
  comesTo,
  submit,
  usersOf,
} from "../../support/fixtures/bulk-grants.ts";
import { endsAsCanceled, reserveAndStart } from "../../support/fixtures/reservations.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

const actsOf = async (objectId: string) =>
  (await recentActs(stack.deps, stack.programId)).filter((act) => act.objectId === objectId);

/** An act that came by Temporal. */
const by = (subject: string, method: string, more: object = {}) => ({
  ...{ caller: { service: "temporal", subject }, via: "TEMPORAL", method, ...more },
  requestId: expect.stringMatching(/^[0-9a-f-]{36}\/\d+$/),
});

test("each Update of a reservation writes one act, and its cancellation, too", async () => {
  const handle = await reserveAndStart(stack, { id: "moved", inMs: hour });
  const execute_time = new Date(Date.now() + 2 * hour).toISOString();
  const args = [{ execute_time, subject: "aki", reason: "earlier" }] as [object];
  // The second one changes nothing.
  for (let i = 0; i < 2; i++) await handle.executeUpdate("reschedule", { args });
  await handle.executeUpdate("change_points", { args: [{ points: 7, subject: "aki" }] });
  await handle.cancel();
  await endsAsCanceled(stack, "moved");
  expect(await actsOf("moved")).toMatchObject([
    by("temporal", "CancelReservation", {
      changes: [{ field: "state", before: "PENDING", after: "CANCELLED" }],
    }),
    by("aki", "ChangeReservationPoints", {
      changes: [{ field: "points", before: "10", after: "7" }],
    }),
    by("aki", "RescheduleReservation", {
      reason: "earlier",
      changes: [{ field: "execute_time", after: execute_time }],
    }),
  ]);
});

test("each Update of a bulk grant writes one act", async () => {
  const executeTime = Date.now() + hour;
  const options = { id: "held", userIds: usersOf("held", 2), executeTime };
  const bulkGrant = await submit(stack.deps, stack.programId, options);
  await comesTo(stack, "held", "AWAITING_APPROVAL");
  await approve(stack.deps, bulkGrant);
  await comesTo(stack, "held", "APPROVED");
  const run = bulkGrantRun(stack, "held");
  const update = (name: string) =>
    run.executeUpdate(name, { args: [{ subject: "mei", reason: name }] as [object] });
  await update("pause");
  await update("pause").catch(() => undefined);
  await update("resume");
  await update("cancel");
  expect(await actsOf("held")).toMatchObject([
    by("mei", "CancelBulkGrant", { reason: "cancel" }),
    by("mei", "ResumeBulkGrant", { reason: "resume" }),
    by("mei", "PauseBulkGrant", { reason: "pause" }),
  ]);
});
