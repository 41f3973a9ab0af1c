/** The entry of the workflow bundle: each exported name is a workflow type. */
import { setWorkflowOptions } from "@temporalio/workflow";
import { purgeTarget } from "./feed/purge-target.ts";
import { expiryNotices } from "./points/expiry-notices.ts";
import { exportLedger, liabilityReport, verifyProgram } from "./points/jobs.ts";
import { monthEnd } from "./points/month-end.ts";
import { startRuns } from "./reservations/start-runs.ts";

export { bulkGrant } from "./bulk-grants/bulk-grant.ts";
export { bulkGrantFromSource } from "./bulk-grants/bulk-grant-from-source.ts";
export { bulkGrantRows } from "./bulk-grants/bulk-grant-rows.ts";
export { pickUpSheets } from "./bulk-grants/pick-up-sheets.ts";
export { hold } from "./holds/hold.ts";
export { reconciler } from "./reservations/reconciler.ts";
export { reservation } from "./reservations/reservation.ts";
export {
  expiryNotices,
  exportLedger,
  liabilityReport,
  monthEnd,
  purgeTarget,
  startRuns,
  verifyProgram,
};

const sweeps: readonly ((input: never) => Promise<unknown>)[] = [
  expiryNotices,
  exportLedger,
  liabilityReport,
  monthEnd,
  purgeTarget,
  startRuns,
  verifyProgram,
];

/**
 * A sweep may be started again, so it fails with what an answer of another shape throws. Any other
 * run repeats its workflow task until a worker can go on.
 */
for (const sweep of sweeps) {
  setWorkflowOptions({ failureExceptionTypes: [TypeError, RangeError, SyntaxError] }, sweep);
}
