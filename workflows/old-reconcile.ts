/** The passes of the reconciler that were under way when it became one long-lived run. */
import { proxyActivities } from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import { orRefusal } from "./failures.ts";

const { reconcileReservations } = proxyActivities<Activities>({
  startToCloseTimeout: "1 day",
  heartbeatTimeout: "30 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "30 seconds" },
});

/** Ends at once: the run that has replaced it does its work. */
export async function reconcile(): Promise<unknown> {
  return await orRefusal(reconcileReservations());
}
