/**
 * Tests that an operator who pauses the pending activity of a reservation delays nothing: a sweep
 * grants the points, once, whatever becomes of the activity later.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeRecord } from "../../../src/platform/work/change-record.ts";
import { reservationRef } from "../../../src/reservations/ports/records.ts";
import type { Reservation } from "../../../src/reservations/rules/reservation.ts";
import { findTemporalCli } from "../../../tools/dev/stack/temporal-cli.ts";
import { isPending, showsDetails, waitsInBackoff } from "../../support/fixtures/operators.ts";
import {
  beginRun,
  expectGrantedOnce,
  reserveAndBegin,
  reserveAndStart,
} from "../../support/fixtures/reservations.ts";
import { sweepAll } from "../../support/fixtures/sweep-overdue.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

/** Runs `temporal activity` for the pending activity of a run. */
async function activity(command: string, handle: WorkflowHandle): Promise<void> {
  const { raw } = await handle.describe();
  const { temporalAddress, temporalNamespace } = stack.config;
  await promisify(execFile)(await findTemporalCli(), [
    ...["activity", command, "--workflow-id", handle.workflowId],
    ...["--activity-id", raw.pendingActivities?.[0]?.activityId ?? ""],
    ...["--address", temporalAddress, "--namespace", temporalNamespace],
  ]);
}

const isPaused = (handle: WorkflowHandle) =>
  eventually(async () => {
    const { raw } = await handle.describe();
    expect(raw.pendingActivities).toMatchObject([{ paused: true }]);
  });

/** Makes a reservation due, of which its run, whose activity is paused, learns nothing. */
async function makeDue(reservationId: string): Promise<void> {
  const { deps, programId } = stack;
  const executeTime = Date.now() - 16_000;
  await deps.dueHours.mark(programId, executeTime, undefined);
  const ref = reservationRef(programId, reservationId);
  await changeRecord(deps, { ref }, (found) => ({ ...(found as Reservation), executeTime }));
}

test.each(["unpause", "reset"])("of one that sleeps, then %s", async (command) => {
  const id = `asleep-${command}`;
  const handle = await reserveAndBegin(stack, { id, inMs: 400 * 24 * hour });
  await waitsInBackoff(handle);
  await showsDetails(handle, "Pausing the activity delays nothing");
  await activity("pause", handle);
  await isPaused(handle);
  await makeDue(id);
  await sweepAll(stack.deps);
  await expectGrantedOnce(stack, id);
  await isPaused(handle);
  await activity(command, handle);
  // The activity was told another time than the record has, so only a signal ends its wait.
  await beginRun(stack, id);
  expect(await handle.result()).toMatchObject({ step: "DONE" });
  await expectGrantedOnce(stack, id);
});

test.each(["unpause", "reset"])("of one that is due, then %s", async (command) => {
  const id = `due-${command}`;
  stack.storeDown(true);
  const handle = await reserveAndStart(stack, { id });
  await eventually(async () => {
    expect(await isPending(handle, "grantAgain", "SCHEDULED")).toBeDefined();
  });
  await activity("pause", handle);
  await isPaused(handle);
  stack.storeDown(false);
  await eventually(async () => {
    await sweepAll(stack.deps);
    await expectGrantedOnce(stack, id);
  });
  await isPaused(handle);
  await activity(command, handle);
  expect(await handle.result()).toMatchObject({ step: "DONE" });
  await expectGrantedOnce(stack, id);
});
