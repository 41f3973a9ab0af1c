/** The entry of the workflow bundle: each exported name is a workflow type. */
export { bulkGrant } from "./bulk-grant.ts";
export { bulkGrantFromSource } from "./bulk-grant-from-source.ts";
export { expiryNotices } from "./expiry-notices.ts";
export { exportLedger } from "./export-ledger.ts";
export { hold } from "./hold.ts";
export { liabilityReport } from "./liability-report.ts";
export { monthEnd } from "./month-end.ts";
export { pickUpSheets } from "./pick-up-sheets.ts";
export { purgeTarget } from "./purge-target.ts";
export { reconciler } from "./reconciler.ts";
export { reservation } from "./reservation.ts";
export { startRuns } from "./start-runs.ts";
export { verifyProgram } from "./verify-program.ts";
