/** The client side of Temporal: implements the port `Workflows`. */

import { createBulkGrantRuns, ensurePickUp } from "../bulk-grants/temporal/bulk-grants.ts";
import { createPurges } from "../feed/temporal/purges.ts";
import { createHoldRuns } from "../holds/temporal/holds.ts";
import { createLink, type TemporalOptions } from "../platform/temporal/connection.ts";
import { isRunning } from "../platform/temporal/query-progress.ts";
import { ensureExpiryNotices } from "../points/temporal/expiry-notices.ts";
import { createJobRuns } from "../points/temporal/jobs.ts";
import { createReservationRuns } from "../reservations/temporal/reservations.ts";
import { ensureMonthEnd } from "./schedules.ts";
import type { TemporalWorkflows } from "./temporal-workflows.ts";

export type { TemporalOptions };

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
    ...createJobRuns(link),
    ...createPurges(link),
    ...createBulkGrantRuns(link),
    isRunning: (workflowId) => link.call(() => isRunning(link, workflowId)),
    ensureMonthEnd: (program) => ensureMonthEnd(link, program),
    ensureExpiryNotices: (program) => ensureExpiryNotices(link, program),
    ensurePickUp: (source) => ensurePickUp(link, source),
    close: () => link.connection.close(),
  };
}
