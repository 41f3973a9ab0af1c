/** Makes pages true by real faults, as a Prometheus sees them that scrapes real processes. */
import { setTimeout } from "node:timers/promises";
import type { WorkflowHandle } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reconcileId } from "../../src/reservations/contract/reconciler.ts";
import { reservationLead } from "../../src/reservations/contract/reservations.ts";
import { rescheduleReservation } from "../../src/reservations/use-cases/commands.ts";
import { getReservation } from "../../src/reservations/use-cases/queries.ts";
import { change, reserveAndBegin } from "../support/fixtures/reservations.ts";
import { eventually, patiently } from "../support/fixtures/waiting.ts";
import { type AlertStack, startAlertStack } from "../support/servers/alerts.ts";

let alerts: AlertStack;
beforeAll(async () => {
  alerts = await startAlertStack();
});
afterAll(() => alerts?.stop());

const hourMs = 3_600_000;

/** Grants points to one user after another until alerts are true, or no longer true. */
async function become(isTrue: boolean, ...names: readonly string[]): Promise<void> {
  for (const name of names) await alerts.becomes(name, isTrue, () => void grant());
}

let grants = 0;

/** A grant, whatever becomes of it. */
async function grant(): Promise<void> {
  grants += 1;
  const { stack, http1Port } = alerts;
  const userId = `user-${grants}`;
  await fetch(`http://127.0.0.1:${http1Port}/meguri.points.v1.PointsService/GrantPoints`, {
    method: "POST",
    headers: { "content-type": "application/json", "meguri-caller": "tests" },
    body: JSON.stringify({ programId: stack.programId, userId, eventId: "welcome", points: 1 }),
  }).catch(() => {});
}

/** Ends the reconciler's run, which its paused schedule does not start again. */
async function stopReconciler(): Promise<void> {
  const { client } = alerts.stack;
  const query = 'WorkflowType = "reconciler" AND ExecutionStatus = "Running"';
  const listed = async () => {
    const runs: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query })) runs.push(workflowId);
    if (runs.length === 0) throw new Error("no run is listed yet");
    return runs;
  };
  // A schedule that is paused too early starts no run that could end.
  await eventually(listed);
  await client.schedule.getHandle(reconcileId).pause();
  for (const workflowId of await eventually(listed)) {
    await client.workflow.getHandle(workflowId).terminate();
  }
}

/** Reserves grants for different users. */
const reserveMany = (name: string, count: number, inMs: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      reserveAndBegin(alerts.stack, { id: `${name}-${n}`, inMs }),
    ),
  );

/** Waits until the worker has said when it wants to hold a grant: its first attempt has failed. */
const waitsForItsTime = (handle: WorkflowHandle, timeoutMs?: number) =>
  eventually(async () => {
    const { pendingActivities } = (await handle.describe()).raw;
    expect(pendingActivities?.[0]?.attempt ?? 0).toBeGreaterThan(1);
  }, timeoutMs);

/**
 * Reserves grants that no worker holds yet, and returns the id of one and their time. A run that
 * begins within the lead holds its grant at once: on a machine that is too slow for the time, all
 * are reserved anew for a later one.
 */
async function reserveWaiting(
  untilLeadMs = 60_000,
): Promise<{ reservationId: string; executeTime: number }> {
  const leadTime = Date.now() + untilLeadMs;
  const executeTime = leadTime + reservationLead.mostMs;
  const name = `until-${untilLeadMs}`;
  const handles = await reserveMany(name, 150, executeTime - Date.now());
  try {
    // One after another, because so many polls at once would keep Temporal busy.
    for (const handle of handles) await waitsForItsTime(handle, leadTime - Date.now());
  } catch {
    return reserveWaiting(2 * untilLeadMs);
  }
  return { reservationId: `${name}-0`, executeTime };
}

/** Waits until a reservation is due, though no worker may know. */
const isDue = (reservationId: string) =>
  eventually(async () => {
    const { deps, programId } = alerts.stack;
    const { state } = await getReservation(deps, { programId, reservationId });
    expect(state).toBe("PROCESSING");
  });

/** Moves a reservation. Its run reads the record again, in a workflow task of the worker. */
async function move(reservationId: string): Promise<void> {
  const { deps, programId } = alerts.stack;
  const to = { ...change, programId, reservationId, executeTime: Date.now() + hourMs };
  await patiently(() => rescheduleReservation(deps, to));
}

test("alerts follow the faults", async () => {
  const { stack, worker, server } = alerts;
  const { proxy, client } = stack;
  const ofErrors = ["MeguriErrorsFast", "MeguriErrorsSlow"];
  const ofWaits = ["MeguriActivitiesWait", "MeguriWorkflowTasksWait"];
  const ofProcesses = ["MeguriNoServer", "MeguriNoWorker"];
  const ofRequests = ["MeguriStoreThrottles", "MeguriStoreRefuses"];
  const ofStore = [...ofRequests, "MeguriStoreAway", "MeguriGrantsPastDue"];
  const ofWorkers = ["MeguriWorkersFull", "MeguriNoSweep", "MeguriNoReconcilerPass"];
  await become(false, ...ofErrors, ...ofWaits, ...ofProcesses, ...ofStore, ...ofWorkers);
  await stopReconciler();

  // First attempts only say when the grants are to be held, because the time is after the longest
  // lead. In the end of the lead, more than a quarter of them are still to be held: more than the
  // worker has polls, because a task that meets a poll of the stopped worker does not wait. And it
  // is stopped for less than the window of an expression.
  const { reservationId, executeTime } = await reserveWaiting();
  await setTimeout(Math.max(0, executeTime - 20_000 - Date.now()));
  process.kill(worker.pid, "SIGSTOP");
  const later = await reserveMany("later", 20, hourMs);
  await isDue(reservationId);
  process.kill(worker.pid, "SIGCONT");
  await become(true, ...ofWaits);
  await Promise.all(later.map((handle) => waitsForItsTime(handle)));

  proxy.faults({ throttle: 0.9 });
  await become(true, "MeguriStoreThrottles");
  proxy.faults({});
  proxy.refuse("AccessDeniedException", ["TransactWriteItems"]);
  await become(true, "MeguriStoreRefuses");
  proxy.refuse(undefined);
  // Slow, but not silent: a workflow task ends while the store is silent.
  proxy.faults({ delay: 1, delayMs: [1_500, 1_500] });
  let moves = 0;
  await alerts.becomes("MeguriWorkersFull", true, () => {
    moves += 1;
    void move(`later-${moves % 20}`);
  });
  proxy.faults({ delay: 1, delayMs: [60_000, 60_000] });
  // It is counted although all slots are full when the store falls silent. Begun by the test: the
  // paused reconciler would not start it again after a start without answer.
  await reserveAndBegin(stack, { id: "late" });
  await become(true, "MeguriStoreAway", "MeguriGrantsPastDue", "MeguriNoSweep", ...ofErrors);
  proxy.faults({});

  await become(true, "MeguriNoReconcilerPass");
  await client.schedule.getHandle(reconcileId).unpause();
  // The others last for longer: those of errors for an hour.
  await become(false, ...ofStore, ...ofWorkers);

  await worker.killHard();
  await server.killHard();
  await become(true, ...ofProcesses);
});
