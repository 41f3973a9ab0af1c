/** The workflow of the reconciler. */
import { proxyActivities } from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import type { ReconcileInput, ReconcileResult } from "../src/contract.ts";
import { orRefusal } from "./failures.ts";

const { reconcileReservations } = proxyActivities<Activities>({
  startToCloseTimeout: "1 day",
  heartbeatTimeout: "30 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

/** Starts the workflow runs that pending reservations are missing. */
export async function reconcile(input: ReconcileInput): Promise<ReconcileResult> {
  return await orRefusal(reconcileReservations(input));
}
