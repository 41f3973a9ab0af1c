/** The client side of Temporal: implements the port `Workflows`. */
import { createBulkGrantRuns, ensurePickUp } from "./bulk-grants.ts";
import { createLink, type TemporalOptions, type TemporalWorkflows } from "./connection.ts";
import { ensureExpiryNotices } from "./expiry-notices.ts";
import { createExports } from "./exports.ts";
import { createHoldRuns } from "./holds.ts";
import { createLiabilityReports } from "./liability-reports.ts";
import { createPurges } from "./purges.ts";
import { isRunning } from "./query-progress.ts";
import { createReservationRuns } from "./reservations.ts";
import { ensureMonthEnd } from "./schedules.ts";
import { createVerifications } from "./verifications.ts";

export type { TemporalOptions, TemporalWorkflows };

/**
 * Connects with the first call, and again after a broken connection. While Temporal is away, every
 * call throws WORKFLOWS_UNAVAILABLE after about three seconds; those about a schedule, which no
 * caller waits for, after ten.
 */
export function createWorkflows(options: TemporalOptions): TemporalWorkflows {
  const link = createLink(options);
  return {
    link,
    isAway: link.isAway,
    ...createReservationRuns(link),
    ...createHoldRuns(link),
    ...createVerifications(link),
    ...createLiabilityReports(link),
    ...createExports(link),
    ...createPurges(link),
    ...createBulkGrantRuns(link),
    isRunning: (workflowId) => link.call(() => isRunning(link, workflowId)),
    ensureMonthEnd: (program) => ensureMonthEnd(link, program),
    ensureExpiryNotices: (program) => ensureExpiryNotices(link, program),
    ensurePickUp: (source) => ensurePickUp(link, source),
    close: () => link.connection.close(),
  };
}
