/** The entry of the workflow bundle: each exported name is a workflow type. */
import { setWorkflowOptions } from "@temporalio/workflow";
import { expiryNotices } from "./expiry-notices.ts";
import { exportLedger } from "./export-ledger.ts";
import { liabilityReport } from "./liability-report.ts";
import { monthEnd } from "./month-end.ts";
import { purgeTarget } from "./purge-target.ts";
import { startRuns } from "./start-runs.ts";
import { verifyProgram } from "./verify-program.ts";

export { bulkGrant } from "./bulk-grant.ts";
export { bulkGrantFromSource } from "./bulk-grant-from-source.ts";
export { hold } from "./hold.ts";
export { pickUpSheets } from "./pick-up-sheets.ts";
export { reconciler } from "./reconciler.ts";
export { reservation } from "./reservation.ts";
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
