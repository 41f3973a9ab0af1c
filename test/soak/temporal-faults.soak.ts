/** Tests outages of Temporal, and the loss of its namespace with all waiting workflows. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { workflowTypes } from "../../src/platform/contract/workflow-types.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { monthEndId } from "../../src/points/contract/month-ends.ts";
import { getJob, startJob } from "../../src/points/use-cases/jobs/jobs.ts";
import { verification } from "../../src/points/use-cases/jobs/verification.ts";
import { fullReconcileId, reconcileId } from "../../src/reservations/contract/reconciler.ts";
import {
  cancelReservation,
  rescheduleReservation,
} from "../../src/reservations/use-cases/commands.ts";
import { syncRuns } from "../../src/reservations/use-cases/sync-runs.ts";
import { keepEnsuringSchedules } from "../../src/temporal/keep-schedules.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import { heldLease } from "../support/fixtures/held-lease.ts";
import {
  change,
  endsAsCanceled,
  expectGrantedOnce,
  handleOf,
  reserve,
  reserveAndStart,
  stateOf,
  verified,
} from "../support/fixtures/reservations.ts";
import { sweepAll } from "../support/fixtures/sweep-overdue.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack, withoutTemporal } from "../support/servers/worker.ts";

const hour = 3_600_000;
const overdue = -2 * 60_000;

let folder: string;
let temporal: Temporal;
let port: number;
let stack: WorkerStack;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-temporal-"));
  temporal = await startTemporal({ ignoreRunning: true, dataFile: join(folder, "first.db") });
  port = Number(temporal.address.split(":")[1]);
  stack = await startWorkerStack({ store: "proxied dynamodb", temporalAddress: temporal.address });
});
afterAll(async () => {
  await stack.stop();
  await temporal.stop();
  await rm(folder, { recursive: true });
});

/** A sweep, and a pass of the reconciler. Throws when Temporal does not answer. */
async function reconcile(): Promise<void> {
  const { deps } = stack;
  const onFailed = (_: unknown, error: unknown) => expect.unreachable(String(error));
  await sweepAll(deps, { onDone: () => {}, onFailed });
  await syncRuns(deps, Date.now() - hour, onFailed);
}

/** Starts Temporal again at the same address, with its old data or without any. */
async function startAgain(data: string): Promise<void> {
  temporal = await startTemporal({ ignoreRunning: true, port, dataFile: join(folder, data) });
}

describe("while Temporal is away", () => {
  test("reservations are created, cancelled and moved; their workflows follow", async () => {
    const { deps, programId } = stack;
    for (const id of ["cancelled", "moved"]) await reserveAndStart(stack, { id, inMs: hour });
    const soonDue = Date.now() + 30_000;
    await reserveAndStart(stack, { id: "cancelled-soon-due", inMs: 30_000 });
    await reserveAndStart(stack, { id: "due-while-away", inMs: 2_000 });
    await temporal.killHard();

    await reserve(deps, programId, { id: "made", inMs: overdue });
    await cancelReservation(deps, { ...change, programId, reservationId: "cancelled" });
    await cancelReservation(deps, { ...change, programId, reservationId: "cancelled-soon-due" });
    const executeTime = Date.now() + overdue;
    await rescheduleReservation(deps, {
      ...change,
      programId,
      reservationId: "moved",
      executeTime,
    });

    await sleep(3_000);
    await startAgain("first.db");
    await eventually(reconcile);
    for (const id of ["made", "moved", "due-while-away"]) await expectGrantedOnce(stack, id);
    await sleep(Math.max(0, soonDue + 1_000 - Date.now()));
    expect(await stateOf(stack, "cancelled-soon-due")).toBe("CANCELLED");
    expect(await verified(stack, "cancelled-soon-due")).toEqual({ balance: 0, entries: 0 });
    // A caller's retry does not change the row, but it cancels the run.
    await cancelReservation(deps, { ...change, programId, reservationId: "cancelled" });
    await endsAsCanceled(stack, "cancelled");
  });

  test("calls are refused within seconds, and succeed when it is back", async () => {
    const { deps, workflows, programId } = stack;
    await temporal.killHard();
    // Each call has a deadline, so that none waits until Temporal is back.
    const deadlines = vi.spyOn(workflows.link.connection, "withDeadline");
    const refused = { reason: "WORKFLOWS_UNAVAILABLE" };
    const call = { programId, jobId: "away", caller: asService("tests") };
    const verify = () => startJob(deps, verification, { ...call, request: { repair: false } });
    await expect(verify()).rejects.toMatchObject(refused);
    await expect(getJob(deps, verification, call)).rejects.toMatchObject(refused);
    expect(deadlines.mock.calls.length).toBeGreaterThanOrEqual(2);
    const latest = Date.now() + 3_000;
    for (const [deadline] of deadlines.mock.calls) {
      expect(Number(deadline)).toBeLessThanOrEqual(latest);
    }
    deadlines.mockRestore();
    await startAgain("first.db");
    await eventually(verify);
    await eventually(async () => {
      const found = await getJob(deps, verification, call);
      expect(found).toMatchObject({ state: "DONE", sum: { wrong: 0 } });
    });
  });
});

describe("a lost namespace", () => {
  test("is rebuilt from the store", async () => {
    const { deps, programId, workflows, client } = stack;
    const ids = Array.from({ length: 10 }, (_, i) => `waiting-${i}`);
    await Promise.all(ids.map((id) => reserveAndStart(stack, { id, inMs: hour })));
    await reserve(withoutTemporal(deps), programId, { id: "far", inMs: hour });
    await temporal.killHard();

    // As servers do: they retry until Temporal is there.
    const { stop } = keepEnsuringSchedules(workflows, deps.reader, heldLease());
    await startAgain("second.db");
    const described = (id: string) => eventually(() => client.schedule.getHandle(id).describe());
    expect((await described(monthEndId(programId))).spec.timezone).toBe("Asia/Tokyo");
    const reconciler = await described(reconcileId);
    await stop();
    expect(reconciler.action).toMatchObject({ workflowType: workflowTypes.reconciler });
    expect(reconciler.policies.overlap).toBe("SKIP");
    expect(reconciler.spec.intervals?.[0]?.every).toBe(60_000);
    const pass = client.workflow.getHandle(fullReconcileId);
    expect((await pass.describe()).type).toBe(workflowTypes.startRuns);
    const started = ids.length + 1;
    expect(await pass.result()).toEqual({ started, failed: 0, failures: [] });
    for (const reservationId of ids) {
      const move = { ...change, programId, reservationId, executeTime: Date.now() };
      await patiently(() => rescheduleReservation(deps, move));
      await expectGrantedOnce(stack, reservationId);
    }
    expect((await handleOf(stack, "far").describe()).status.name).toBe("RUNNING");
  });

  test("is left alone once it has been rebuilt", async () => {
    const { deps, workflows, client } = stack;
    const pass = client.workflow.getHandle(fullReconcileId);
    const { runId } = await pass.describe();
    await patiently(() => ensureSchedules(workflows, deps.reader));
    expect((await pass.describe()).runId).toBe(runId);
  });
});
