/** Makes pages true by real faults, as a Prometheus sees them that scrapes real processes. */
import { afterAll, beforeAll, test } from "vitest";
import { reconcileId } from "../../src/contract/reconciler.ts";
import { reserve } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type AlertStack, startAlertStack } from "../support/servers/alerts.ts";

let alerts: AlertStack;
beforeAll(async () => {
  alerts = await startAlertStack();
});
afterAll(() => alerts?.stop());

/** Grants points to one user after another until an alert is true, or no longer true. */
const callUntil = (alert: string, isTrue: boolean) =>
  alerts.becomes(alert, isTrue, () => void grant());

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

test("alerts follow the faults", async () => {
  const { stack, worker, server } = alerts;
  for (const alert of ["MeguriNoServer", "MeguriNoWorker", "MeguriNoReconcilerPass"])
    await callUntil(alert, false);

  for (const alert of ["MeguriErrorsFast", "MeguriErrorsSlow"]) await callUntil(alert, false);
  await stopReconciler();
  await callUntil("MeguriStoreThrottles", false);
  stack.proxy.faults({ throttle: 0.9 });
  await callUntil("MeguriStoreThrottles", true);
  stack.proxy.faults({});
  await callUntil("MeguriStoreThrottles", false);

  await callUntil("MeguriStoreAway", false);
  await reserve(stack.deps, stack.programId, { id: "late", inMs: 10_000 });
  await callUntil("MeguriGrantsPastDue", false);
  stack.proxy.faults({ delay: 1, delayMs: [60_000, 60_000] });
  await callUntil("MeguriStoreAway", true);
  await callUntil("MeguriGrantsPastDue", true);
  for (const alert of ["MeguriErrorsFast", "MeguriErrorsSlow"]) await callUntil(alert, true);
  stack.proxy.faults({});
  await callUntil("MeguriGrantsPastDue", false);
  await callUntil("MeguriStoreAway", false);

  await callUntil("MeguriNoReconcilerPass", true);
  await stack.client.schedule.getHandle(reconcileId).unpause();
  await callUntil("MeguriNoReconcilerPass", false);

  await worker.killHard();
  await server.killHard();
  for (const alert of ["MeguriNoServer", "MeguriNoWorker"]) await callUntil(alert, true);
});
