/** Tests the reservation workflow with a real worker, a real Temporal and a real store. */

import { randomUUID } from "node:crypto";
import { toJson } from "@bufbuild/protobuf";
import { DurationSchema, durationFromMs } from "@bufbuild/protobuf/wkt";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createActivities } from "../../../activities/index.ts";
import { formatInstant } from "../../../src/platform/words/month.ts";
import type { ReservationStep } from "../../../src/reservations/contract/reservations.ts";
import { latenessOf } from "../../../src/reservations/rules/reservation.ts";
import {
  rescheduleReservation,
  retryReservation,
} from "../../../src/reservations/use-cases/commands.ts";
import { noObservers } from "../../support/fixtures/no-observers.ts";
import {
  change,
  eventsOf,
  expectGrantedOnce,
  freeze,
  handleOf,
  reaches,
  reserve,
  reserveAndStart,
  stateOf,
  verified,
} from "../../support/fixtures/reservations.ts";
import {
  startWorkerStack,
  type WorkerStack,
  withoutTemporal,
} from "../../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

/** Runs the grant activity once for a run, which is a reset of the run `original` if given. */
function runActivity(id: string, run: string, original = run): Promise<ReservationStep> {
  const { deps, programId } = stack;
  const { grantWhenDue } = createActivities({ deps, ...noObservers });
  const workflowExecution = { workflowId: id, runId: run };
  const scheduledTimestampMs = Date.now();
  const environment = new MockActivityEnvironment({ workflowExecution, scheduledTimestampMs });
  return environment.run(grantWhenDue, {
    program_id: programId,
    reservation_id: id,
    user_id: id,
    execute_time: new Date().toISOString(),
    lead_ms: 1_000,
    original_run_id: original,
  });
}

/** The events of a reservation that nobody changes. */
const plainEvents = [
  "workflowExecutionStarted",
  "workflowTaskScheduled",
  "workflowTaskStarted",
  "workflowTaskCompleted",
  "activityTaskScheduled",
  "activityTaskStarted",
  "activityTaskCompleted",
  "workflowTaskScheduled",
  "workflowTaskStarted",
  "workflowTaskCompleted",
  "workflowExecutionCompleted",
];

describe("a reservation", () => {
  test("is granted at its time, not before, in 11 events", async () => {
    await reserve(stack.deps, stack.programId, { id: "normal", inMs: 1_500 });
    const reservation = await expectGrantedOnce(stack, "normal");
    expect(reservation.grant?.time).toBeGreaterThanOrEqual(reservation.executeTime);
    await handleOf(stack, "normal").result();
    expect(await eventsOf(handleOf(stack, "normal"))).toEqual(plainEvents);
    expect(await handleOf(stack, "normal").result()).toEqual({
      step: "DONE",
      execute_time: formatInstant(reservation.executeTime, "Asia/Tokyo"),
      grant_time: formatInstant(reservation.grant?.time ?? 0, "Asia/Tokyo"),
      lateness: toJson(DurationSchema, durationFromMs(latenessOf(reservation))),
      points: 10,
      available_points: 10,
      entry_number: 1,
    });
  });

  test("whose time has passed is granted at once", async () => {
    await reserve(stack.deps, stack.programId, { id: "past", inMs: -hour });
    await expectGrantedOnce(stack, "past");
    expect(await handleOf(stack, "past").result()).toMatchObject({
      step: "DONE",
      available_points: 10,
    });
    expect(await eventsOf(handleOf(stack, "past"))).toEqual(plainEvents);
  });

  test("whose activity runs several times, in several runs, is granted once", async () => {
    const { deps, programId } = stack;
    await reserve(withoutTemporal(deps), programId, { id: "delivered" });
    const run = randomUUID();
    const steps = await Promise.all(
      [run, run, randomUUID()].map((each) => runActivity("delivered", each)),
    );
    steps.push(await runActivity("delivered", run), await runActivity("delivered", randomUUID()));
    for (const step of steps) {
      expect(step).toMatchObject({ step: "DONE", available_points: 10, entry_number: 1 });
    }
    await expectGrantedOnce(stack, "delivered");
  });

  test("follows its record to an earlier and to a later time", async () => {
    const { deps, programId } = stack;
    await reserveAndStart(stack, { id: "earlier", inMs: hour });
    await reserveAndStart(stack, { id: "later", inMs: 700 });
    const executeTime = Date.now() + 1_500;
    await rescheduleReservation(deps, {
      ...change,
      programId,
      reservationId: "earlier",
      executeTime,
    });
    await rescheduleReservation(deps, {
      ...change,
      programId,
      reservationId: "later",
      executeTime: executeTime + 1_000,
      ...change,
    });
    const reservations = [
      await expectGrantedOnce(stack, "earlier"),
      await expectGrantedOnce(stack, "later"),
    ];
    for (const reservation of reservations)
      expect(reservation.grant?.time).toBeGreaterThanOrEqual(reservation.executeTime);
    expect(await stateOf(stack, "later")).toBe("DONE");
  });
});

describe("a refused reservation", () => {
  test("can be retried at once, while its run is still closing", async () => {
    const { deps, programId } = stack;
    for (const id of Array.from({ length: 10 }, (_, i) => `quick-${i}`)) {
      await freeze(stack, id, true);
      await reserve(deps, programId, { id });
      await reaches(stack, id, "FAILED");
      await freeze(stack, id, false);
      await retryReservation(deps, { ...change, programId, reservationId: id });
      await reaches(stack, id, "DONE");
    }
  });

  test("stays FAILED for every run, until a retry or a reset", async () => {
    const { deps, programId } = stack;
    const id = "stays-failed";
    await freeze(stack, id, true);
    await reserve(withoutTemporal(deps), programId, { id });
    const failed = { step: "FAILED", reason: "ACCOUNT_FROZEN" };
    expect(await runActivity(id, "run-1")).toMatchObject({ ...failed, run_id: "run-1" });
    await freeze(stack, id, false);
    expect(await runActivity(id, "run-1")).toMatchObject(failed);
    expect(await runActivity(id, "run-2")).toMatchObject({ ...failed, run_id: "run-2" });
    expect(await verified(stack, id)).toMatchObject({ balance: 0 });
    expect(await runActivity(id, "run-3", "run-1")).toMatchObject({ step: "DONE" });
    expect(await verified(stack, id)).toMatchObject({ balance: 10 });
  });

  test("is granted by any run after a retry", async () => {
    const { deps, programId } = stack;
    const id = "retried";
    await freeze(stack, id, true);
    await reserve(withoutTemporal(deps), programId, { id });
    expect(await runActivity(id, "run-1")).toMatchObject({ step: "FAILED" });
    await freeze(stack, id, false);
    const temporalAway = withoutTemporal(deps);
    await retryReservation(temporalAway, { programId, reservationId: id, ...change });
    expect(await runActivity(id, "run-1")).toMatchObject({ step: "DONE" });
    expect(await verified(stack, id)).toMatchObject({ balance: 10 });
  });
});
