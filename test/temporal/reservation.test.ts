/** Tests the reservation workflow with a real worker, a real Temporal and a real store. */
import { randomUUID } from "node:crypto";
import { WorkflowFailedError, WorkflowUpdateFailedError } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createActivities } from "../../activities/index.ts";
import {
  cancelReservation,
  createReservation,
  rescheduleReservation,
  retryReservation,
} from "../../src/app/reservations/commands.ts";
import { reconcileReservations } from "../../src/app/reservations/reconcile.ts";
import type { ReservationStep } from "../../src/contract.ts";
import {
  eventsOf,
  expectGrantedOnce,
  freeze,
  handleOf,
  reaches,
  reserve,
  reserveAndStart,
  stateOf,
  verified,
} from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack, withoutTemporal } from "../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

/** Runs the grant activity once for a run. */
function runActivity(id: string, run: string): Promise<ReservationStep> {
  const { deps, programId } = stack;
  const { executeReservation } = createActivities({ deps, onDone: () => {} });
  const workflowExecution = { workflowId: id, runId: run };
  const environment = new MockActivityEnvironment({ workflowExecution });
  const input = { program: programId, reservation: id, user: id, executeTime: 0 };
  return environment.run(executeReservation, input);
}

const reconcile = () => reconcileReservations(stack.deps, { everything: false }, () => {});

const failureOf = async (id: string) => {
  const error = await handleOf(stack, id)
    .result()
    .catch((error: unknown) => error);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  return (error as WorkflowFailedError).cause as ApplicationFailure;
};

/** The time at which the first timer of a run is set to fire. */
async function timerEnd(id: string): Promise<number> {
  const { events } = await handleOf(stack, id).fetchHistory();
  const task = events?.find((event) => event.workflowTaskStartedEventAttributes);
  const timer = events?.find((event) => event.timerStartedEventAttributes);
  const ms = (time?: { seconds?: unknown; nanos?: number | null } | null) =>
    Number(time?.seconds ?? Number.NaN) * 1_000 + (time?.nanos ?? 0) / 1e6;
  return ms(task?.eventTime) + ms(timer?.timerStartedEventAttributes?.startToFireTimeout);
}

describe("a reservation", () => {
  test("is granted at its time, not before, in 12 events", async () => {
    await reserve(stack.deps, stack.programId, { id: "normal", inMs: 1_500 });
    const row = await expectGrantedOnce(stack, "normal");
    expect(row.executed?.time).toBeGreaterThanOrEqual(row.executeTime);
    await handleOf(stack, "normal").result();
    // The requested time of the timer, because a busy machine may fire it later.
    expect(Math.abs((await timerEnd("normal")) - row.executeTime)).toBeLessThanOrEqual(2);
    expect(await eventsOf(handleOf(stack, "normal"))).toEqual([
      "workflowExecutionStarted",
      "workflowTaskScheduled",
      "workflowTaskStarted",
      "workflowTaskCompleted",
      "timerStarted",
      "timerFired",
      "workflowTaskScheduled",
      "workflowTaskStarted",
      "workflowTaskCompleted",
      "markerRecorded",
      "upsertWorkflowSearchAttributes",
      "workflowExecutionCompleted",
    ]);
  });

  test("whose time has passed is granted at once, in 7 events", async () => {
    await reserve(stack.deps, stack.programId, { id: "past", inMs: -hour });
    await expectGrantedOnce(stack, "past");
    expect(await handleOf(stack, "past").result()).toEqual({ step: "DONE", entry: 1 });
    expect(await eventsOf(handleOf(stack, "past"))).toHaveLength(7);
  });

  test("created twice is one; with other points it is refused", async () => {
    const { deps, programId } = stack;
    const executeTime = Date.now() + 500;
    const request = {
      programId,
      reservationId: "twice",
      userId: "twice",
      points: 10,
      reason: "",
      caller: "tests",
    };
    const create = (points: number) => createReservation(deps, { ...request, points, executeTime });
    const [a, b] = await Promise.all([create(10), create(10)]);
    expect([a.replayed, b.replayed]).toContain(true);
    await expect(create(11)).rejects.toMatchObject({ reason: "ID_REUSED" });
    await expectGrantedOnce(stack, "twice");
    expect(await create(10)).toMatchObject({ replayed: true, state: "DONE" });
  });

  test("whose activity runs several times, in several runs, is granted once", async () => {
    const { deps, programId } = stack;
    await reserve(withoutTemporal(deps), programId, { id: "delivered" });
    const run = randomUUID();
    const steps = await Promise.all(
      [run, run, randomUUID()].map((each) => runActivity("delivered", each)),
    );
    steps.push(await runActivity("delivered", run), await runActivity("delivered", randomUUID()));
    expect(steps).toEqual(Array(5).fill({ step: "DONE", entry: 1 }));
    await expectGrantedOnce(stack, "delivered");
  });

  test("cancelled while it sleeps ends its workflow without points", async () => {
    const { deps, programId } = stack;
    await reserveAndStart(stack, { id: "cancelled", inMs: hour });
    await cancelReservation(deps, { programId, reservationId: "cancelled" });
    expect(await handleOf(stack, "cancelled").result()).toEqual({ step: "CANCELLED" });
    expect(await verified(stack, "cancelled")).toEqual({ balance: 0, entries: 0 });
  });

  test("follows its row to an earlier and to a later time", async () => {
    const { deps, programId } = stack;
    await reserveAndStart(stack, { id: "earlier", inMs: hour });
    await reserveAndStart(stack, { id: "later", inMs: 700 });
    const executeTime = Date.now() + 1_500;
    await rescheduleReservation(deps, { programId, reservationId: "earlier", executeTime });
    await rescheduleReservation(deps, {
      programId,
      reservationId: "later",
      executeTime: executeTime + 1_000,
    });
    const rows = [
      await expectGrantedOnce(stack, "earlier"),
      await expectGrantedOnce(stack, "later"),
    ];
    for (const row of rows) expect(row.executed?.time).toBeGreaterThanOrEqual(row.executeTime);
    expect(await stateOf(stack, "later")).toBe("DONE");
  });
});

describe("a refused reservation", () => {
  test("fails with the reason, and another run grants it after a retry", async () => {
    const { deps, programId } = stack;
    await freeze(stack, "frozen", true);
    await reserve(deps, programId, { id: "frozen" });
    const { failure } = await reaches(stack, "frozen", "FAILED");
    expect(failure?.reason).toBe("ACCOUNT_FROZEN");
    expect(await failureOf("frozen")).toMatchObject({ type: "ACCOUNT_FROZEN", nonRetryable: true });
    await freeze(stack, "frozen", false);
    const first = (await handleOf(stack, "frozen").describe()).runId;
    await retryReservation(deps, { programId, reservationId: "frozen" });
    await reaches(stack, "frozen", "DONE");
    expect(await verified(stack, "frozen")).toEqual({ balance: 10, entries: 3 });
    expect((await handleOf(stack, "frozen").describe()).runId).not.toBe(first);
  });

  test("can be retried at once, while its run is still closing", async () => {
    const { deps, programId } = stack;
    for (const id of Array.from({ length: 10 }, (_, i) => `quick-${i}`)) {
      await freeze(stack, id, true);
      await reserve(deps, programId, { id });
      await reaches(stack, id, "FAILED");
      await freeze(stack, id, false);
      await retryReservation(deps, { programId, reservationId: id });
      await reaches(stack, id, "DONE");
    }
  });

  test("stays FAILED for its run, however often the activity runs again", async () => {
    const { deps, programId } = stack;
    const id = "stays-failed";
    await freeze(stack, id, true);
    await reserve(withoutTemporal(deps), programId, { id });
    const failed = { step: "FAILED", reason: "ACCOUNT_FROZEN" };
    expect(await runActivity(id, "run-1")).toMatchObject(failed);
    await freeze(stack, id, false);
    expect(await runActivity(id, "run-1")).toMatchObject(failed);
    await retryReservation(withoutTemporal(deps), { programId, reservationId: id });
    expect(await runActivity(id, "run-1")).toMatchObject({ step: "FAILED" });
    expect(await verified(stack, id)).toMatchObject({ balance: 0 });
    expect(await runActivity(id, "run-2")).toMatchObject({ step: "DONE" });
    expect(await verified(stack, id)).toMatchObject({ balance: 10 });
  });
});

describe("an operator", () => {
  test("sees how much goes to whom and when, and what it waits for", async () => {
    const { deps, programId, client } = stack;
    const year = new Date().getUTCFullYear() + 2;
    const executeTime = Date.UTC(year, 0, 1) - 9 * hour;
    const inMs = executeTime - Date.now();
    const handle = await reserveAndStart(stack, { id: "seen", points: 120, inMs });
    const utc = `${year - 1}-12-31T15:00:00`;
    await eventually(async () => {
      expect(await handle.query("state")).toContain(`Waits until ${utc}`);
    });
    const described = await handle.describe();
    const summary = await described.staticSummary();
    expect(summary).toMatch(/^120 points for seen at .*\+09:00\[Asia\/Tokyo\]$/);
    expect(summary).toContain(`at ${year}-01-01T00:00:00`);
    expect(await described.staticDetails()).toContain("- reserved by: tests");
    const { events } = await handle.fetchHistory();
    const timer = events?.find((event) => event.timerStartedEventAttributes);
    const timerSummary = Buffer.from(timer?.userMetadata?.summary?.data ?? []).toString();
    expect(timerSummary).toContain(`until ${utc}`);
    const listed = async (query: string) => {
      const found: string[] = [];
      for await (const each of client.workflow.list({ query })) found.push(each.workflowId);
      return found;
    };
    const day = [`${year - 1}-12-31T00:00:00Z`, `${year}-01-01T00:00:00Z`];
    const at = `MeguriExecuteTime BETWEEN "${day[0]}" AND "${day[1]}"`;
    await eventually(async () => {
      const mine = `MeguriProgram = "${programId}" AND MeguriUser = "seen" AND ${at}`;
      const pending = await listed(`${mine} AND MeguriState = "PENDING"`);
      expect(pending).toEqual([`reservation/${programId}/seen`]);
    });
    await cancelReservation(deps, { programId, reservationId: "seen" });
    await handle.result();
    expect(await handle.query("state")).toBe("Cancelled.");
    await eventually(async () => {
      const query = `MeguriUser = "seen" AND MeguriState = "CANCELLED"`;
      expect(await listed(query)).toEqual([`reservation/${programId}/seen`]);
    });
  });

  test("reschedules and cancels with updates, which return the new state", async () => {
    await reserveAndStart(stack, { id: "updated", inMs: hour });
    await reserveAndStart(stack, { id: "stopped", inMs: hour });
    const updated = handleOf(stack, "updated");
    const execute_time = new Date(Date.now() + 1_000).toISOString();
    expect(await updated.executeUpdate("reschedule", { args: [{ execute_time }] })).toEqual({
      state: "PENDING",
      execute_time,
    });
    await expectGrantedOnce(stack, "updated");
    expect(await updated.result()).toMatchObject({ step: "DONE" });

    const stopped = handleOf(stack, "stopped");
    expect(await stopped.executeUpdate("cancel")).toMatchObject({ state: "CANCELLED" });
    expect(await stopped.result()).toEqual({ step: "CANCELLED" });
    expect(await verified(stack, "stopped")).toEqual({ balance: 0, entries: 0 });
  });

  test("is refused with the reason", async () => {
    const { deps, programId } = stack;
    await reserveAndStart(stack, { id: "refused", inMs: hour });
    const refusal = async (arg?: unknown) => {
      const error = await handleOf(stack, "refused")
        .executeUpdate("reschedule", { args: [arg] as [unknown] })
        .catch((error: unknown) => error);
      expect(error).toBeInstanceOf(WorkflowUpdateFailedError);
      return (error as WorkflowUpdateFailedError).cause;
    };
    const invalid = { type: "INVALID_REQUEST", nonRetryable: true };
    expect(await refusal({ execute_time: "tomorrow" })).toMatchObject(invalid);
    expect(await refusal({ execute_time: "2026-12-01T00:00:00" })).toMatchObject(invalid);
    expect(await refusal()).toMatchObject(invalid);
    const far = await refusal({ execute_time: "2099-01-01T00:00:00Z" });
    expect(far).toMatchObject({ ...invalid, message: expect.stringContaining("five years") });

    // The workflow has not received the cancel yet.
    await cancelReservation(withoutTemporal(deps), { programId, reservationId: "refused" });
    const late = await refusal({ execute_time: new Date().toISOString() });
    expect(late).toMatchObject({ type: "WRONG_STATE", nonRetryable: true });
  });
});

describe("the reconciler", () => {
  test("starts a terminated run again", async () => {
    const { deps, programId } = stack;
    await reserveAndStart(stack, { id: "terminated", inMs: hour });
    await handleOf(stack, "terminated").terminate("a mistake");
    const executeTime = Date.now() - 2 * 60_000;
    const id = "terminated";
    await rescheduleReservation(withoutTemporal(deps), {
      programId,
      reservationId: id,
      executeTime,
    });
    expect(await stateOf(stack, id)).toBe("PENDING");
    await reconcile();
    await expectGrantedOnce(stack, id);
  });

  test("refreshes a run that missed a move to an earlier time", async () => {
    const { deps, programId } = stack;
    const id = "moved-earlier";
    const { runId } = await (await reserveAndStart(stack, { id, inMs: hour })).describe();
    const executeTime = Date.now() - 2 * 60_000;
    await rescheduleReservation(withoutTemporal(deps), {
      programId,
      reservationId: id,
      executeTime,
    });
    await stack.client.workflow.execute("reconcile", {
      workflowId: "reconcile",
      taskQueue: stack.config.taskQueue,
      args: [{ everything: false }],
    });
    await expectGrantedOnce(stack, id);
    expect((await handleOf(stack, id).describe()).runId).toBe(runId);
  });

  test("does not touch a reservation that is not overdue", async () => {
    const { deps, programId } = stack;
    await reserve(withoutTemporal(deps), programId, { id: "on-time", inMs: -30_000 });
    expect(await reconcile()).toBe(0);
    expect(await stateOf(stack, "on-time")).toBe("PENDING");
  });
});

test("lateness is counted", async () => {
  await reserve(stack.deps, stack.programId, { id: "late", inMs: -20_000 });
  await reaches(stack, "late", "DONE");
  await eventually(async () => {
    const text = await stack.metrics.registry.metrics();
    const count = (le: string) =>
      Number(new RegExp(`lateness_seconds_bucket{le="${le}"} (\\d+)`).exec(text)?.[1]);
    expect(count("30")).toBeGreaterThan(count("10"));
  });
});
