/** Tests resets of runs by operators: the one way to try a FAILED reservation from Temporal. */
import { WithStartWorkflowOperation, type WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatInstant } from "../../../src/platform/words/month.ts";
import { reservationWorkflowId } from "../../../src/reservations/contract/reservations.ts";
import { rescheduleReservation } from "../../../src/reservations/use-cases/commands.ts";
import { syncRuns } from "../../../src/reservations/use-cases/sync-runs.ts";
import { startRun } from "../../../src/reservations/use-cases/workflow-runs.ts";
import {
  expectNothingGranted,
  expectResetGrants,
  failsFrozen,
  grantedOnce,
  isListed,
  recordOf,
  reset,
  showsDetails,
  statusOf,
  waitsInBackoff,
} from "../../support/fixtures/operators.ts";
import {
  change,
  endsAsCanceled,
  freeze,
  reaches,
  reserveAndBegin,
  reserveAndStart,
  verified,
} from "../../support/fixtures/reservations.ts";
import { eventually } from "../../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack } from "../../support/servers/worker.ts";

const hour = 3_600_000;

let stack: WorkerStack;
beforeAll(async () => {
  stack = await startWorkerStack();
});
afterAll(() => stack.stop());

/** Makes a reservation whose record and run have failed. */
async function fail(id: string): Promise<void> {
  await freeze(stack, id, true);
  await reserveAndStart(stack, { id });
  await failsFrozen(stack, id);
}

describe.concurrent.each(["first", "last"] as const)(
  "a reset to the %s workflow task grants once",
  (to) => {
    test("after a refusal at the due time", async () => {
      const id = `quick-${to}`;
      await fail(id);
      await expectResetGrants(stack, id, to);
      await isListed(stack, id, 'MeguriState IS NULL AND ExecutionStatus = "Completed"');
    });

    test.each([true, false])("after a move to an earlier time; reapplied: %s", async (reapply) => {
      const id = `moved-${to}-${reapply}`;
      await freeze(stack, id, true);
      const handle = await reserveAndStart(stack, { id, inMs: hour });
      const execute_time = new Date().toISOString();
      await handle.executeUpdate("reschedule", { args: [{ execute_time }] });
      await failsFrozen(stack, id);
      await expectResetGrants(stack, id, to, reapply);
    });

    test("and once more after the reset run has failed, too", async () => {
      const id = `twice-${to}`;
      await fail(id);
      const again = await reset(stack, id, to);
      await expect(again.result()).rejects.toMatchObject({ cause: { type: "ACCOUNT_FROZEN" } });
      await expectResetGrants(stack, id, to);
    });
  },
);

describe.concurrent.each(["first", "last"] as const)(
  "a reset to the %s workflow task changes nothing",
  (to) => {
    test("of a reservation whose points are granted", async () => {
      const id = `done-${to}`;
      const first = await reserveAndStart(stack, { id });
      const result = await first.result();
      const reservation = await recordOf(stack, id);
      const again = await reset(stack, id, to);
      expect(await again.result()).toEqual(result);
      expect(await recordOf(stack, id)).toEqual(reservation);
      expect(await verified(stack, id)).toEqual({ balance: 10, entries: 1 });
    });

    test("of a reservation that is cancelled", async () => {
      const id = `cancelled-${to}`;
      const handle = await reserveAndBegin(stack, { id, inMs: hour });
      await waitsInBackoff(handle);
      await handle.cancel();
      await endsAsCanceled(stack, id);
      const reservation = await recordOf(stack, id);
      const again = await reset(stack, id, to);
      // Long before its time has come.
      await endsAsCanceled(stack, id);
      expect(await statusOf(again)).toBe("CANCELLED");
      await showsDetails(again, "Cancelled by temporal (cancellation requested in Temporal).");
      expect(await recordOf(stack, id)).toEqual(reservation);
      await expectNothingGranted(stack, id);
    });
  },
);

describe.concurrent("an activity that was completed by hand is scheduled again", () => {
  const result = { execute_time: "2026-01-01T00:00:00+09:00", points: 10, entry_number: 1 };
  const late = { grant_time: result.execute_time, lateness: "0s", available_points: 10 };

  test.each([
    ["nothing", null],
    ["text", "DONE"],
    ["a list", []],
    ["a result", { step: "DONE", ...result, ...late }],
    ["a time", { step: "WAIT", execute_time: "2099-01-01T00:00:00+09:00" }],
  ])("with %s: the run goes on by the record", async (what, answer) => {
    const id = `by-hand-${what.replaceAll(/[^a-z]/g, "-")}`;
    const handle = await reserveAndBegin(stack, { id, inMs: 60 * hour });
    await waitsInBackoff(handle);
    const executeTime = formatInstant((await recordOf(stack, id)).executeTime, "Asia/Tokyo");
    const before = await pendingActivityId(handle);
    const { workflowId } = handle;
    await stack.client.activity.complete({ workflowId, activityId: before }, answer);
    await eventually(async () => expect(await pendingActivityId(handle)).not.toBe(before));
    expect(await waitsInBackoff(handle)).toBe(`waits until ${executeTime}`);
    await showsDetails(handle, `Waits until ${executeTime}.`);
    await handle.cancel();
    await endsAsCanceled(stack, id);
  });

  const pendingActivityId = async (handle: WorkflowHandle): Promise<string> => {
    const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
    expect(pending?.activityId).toBeTruthy();
    return pending?.activityId ?? "";
  };
});

describe("without a retry, nothing grants a FAILED reservation", () => {
  async function startByHand(id: string) {
    const { client, config, programId } = stack;
    return client.workflow.start("reservation", {
      workflowId: reservationWorkflowId(programId, id),
      taskQueue: config.taskQueue,
      args: [byHand(id)],
    });
  }

  test("not a second run, started by hand", async () => {
    await fail("by-hand");
    await freeze(stack, "by-hand", false);
    const second = await startByHand("by-hand");
    await expect(second.result()).rejects.toMatchObject({ cause: { type: "ACCOUNT_FROZEN" } });
    const details = await showsDetails(second, "**What to do now:** unfreeze the account");
    expect(details).toContain("RetryReservation or reset this run to its first workflow task");
    await expectNothingGranted(stack, "by-hand");
  });

  test("not a start that was decided before it failed, nor the reconciler", async () => {
    const { deps } = stack;
    const id = "stale";
    await freeze(stack, id, true);
    const handle = await reserveAndStart(stack, { id, inMs: hour });
    const pending = await recordOf(stack, id);
    const { programId } = stack;
    const move = { ...change, programId, reservationId: id, executeTime: Date.now() };
    await rescheduleReservation(deps, move);
    await failsFrozen(stack, id);
    await freeze(stack, id, false);
    await isListed(stack, id, 'ExecutionStatus = "Failed"');

    const { restarted } = await syncRuns(deps, Date.now() - hour, () => {});
    expect(restarted).toBe(0);
    expect(await statusOf(handle)).toBe("FAILED");

    await startRun(deps, { ...pending, executeTime: Date.now() });
    await failsFrozen(stack, id);
    expect((await recordOf(stack, id)).state).toBe("FAILED");
    await expectNothingGranted(stack, id);
  });
});

/** The input of a run, as an operator types it. */
const byHand = (id: string) => ({
  program_id: stack.programId,
  reservation_id: id,
  user_id: id,
  points: 10,
  execute_time_at_start: "2026-01-01T00:00:00+09:00",
});

describe("the Update retry", () => {
  test("by update-with-start grants a FAILED reservation", async () => {
    const { client, config, programId } = stack;
    const id = "update-with-start";
    await fail(id);
    await freeze(stack, id, false);
    const startWorkflowOperation = new WithStartWorkflowOperation("reservation", {
      workflowId: reservationWorkflowId(programId, id),
      taskQueue: config.taskQueue,
      args: [byHand(id)],
      workflowIdConflictPolicy: "USE_EXISTING",
    });
    const view = await client.workflow.executeUpdateWithStart("retry", {
      startWorkflowOperation,
      args: [{ subject: "aki", reason: "unfrozen" }],
    });
    expect(view).toMatchObject({ state: "PROCESSING" });
    const started = await startWorkflowOperation.workflowHandle();
    expect(await started.result()).toMatchObject({ step: "DONE", available_points: 10 });
    const reservation = await reaches(stack, id, "DONE");
    expect(reservation).toMatchObject({
      lastChange: { caller: { service: "temporal", subject: "aki" }, reason: "unfrozen" },
    });
    expect(await verified(stack, id)).toEqual(grantedOnce);
  });
});
