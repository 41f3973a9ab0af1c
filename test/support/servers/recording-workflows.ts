/** The workflows port without Temporal: records its calls, so that a test can compare them. */

import type { Workflows } from "../../../src/hub/deps.ts";
import { emptyExport, exportWorkflowId } from "../../../src/points/contract/exports.ts";
import { verifyWorkflowId } from "../../../src/points/contract/verifications.ts";
import type { Verification } from "../../../src/points/ports/deps.ts";
import type { LedgerExport } from "../../../src/points/ports/exports.ts";
import { idOf } from "../fixtures/record-names.ts";

/** `calls` has a line for each call, such as `startReservation default r-1`. */
export interface RecordingWorkflows extends Workflows {
  readonly calls: string[];
}

export function recordWorkflows(): RecordingWorkflows {
  const calls: string[] = [];
  const verifications = new Map<string, Verification>();
  const exports = new Map<string, LedgerExport>();
  return {
    calls,
    isAway: () => false,
    async startReservation({ programId, reservationId }) {
      calls.push(`startReservation ${programId} ${reservationId}`);
    },
    async refreshReservation({ programId, reservationId }) {
      calls.push(`refreshReservation ${programId} ${reservationId}`);
    },
    async cancelReservationRun({ programId, reservationId }) {
      calls.push(`cancelReservationRun ${programId} ${reservationId}`);
    },
    countPaused: async () => 0,
    async *brokenRuns() {},
    async *overdueRuns() {},
    async terminateRun(run) {
      calls.push(`terminateRun ${run.programId} ${idOf(run)}`);
    },
    async startHold({ programId, holdId }) {
      calls.push(`startHold ${programId} ${holdId}`);
    },
    async refreshHold({ programId, holdId }) {
      calls.push(`refreshHold ${programId} ${holdId}`);
    },
    async refreshPaused(programId, reason) {
      calls.push(`refreshPaused ${programId}: ${reason}`);
    },
    async ensureMonthEnd({ programId }) {
      calls.push(`ensureMonthEnd ${programId}`);
    },
    async ensureExpiryNotices({ programId, notices }) {
      calls.push(`ensureExpiryNotices ${programId} ${notices?.expiryDays ?? 0}`);
    },
    async startVerification(programId, repair) {
      calls.push(`startVerification ${programId}${repair ? " with repair" : ""}`);
      verifications.set(programId, {
        workflowId: verifyWorkflowId(programId),
        startTime: 0,
        state: "RUNNING",
        repair,
        accounts: 0,
        entries: 0,
        wrong: 0,
        repaired: 0,
        reports: [],
        failed: 0,
        failures: [],
      });
    },
    verification: async (programId) => verifications.get(programId),
    async startLiabilityReport({ programId, reportId }) {
      calls.push(`startLiabilityReport ${programId} ${reportId}`);
    },
    async startExport(request) {
      const { programId, exportId } = request;
      const workflowId = exportWorkflowId(programId, exportId);
      calls.push(`startExport ${programId} ${exportId}`);
      const { unreadables: _, ...counts } = emptyExport;
      const started = { workflowId, startTime: 0, state: "RUNNING", unreadables: [] } as const;
      exports.set(workflowId, { ...request, ...counts, ...started });
    },
    ledgerExport: async ({ programId, exportId }) =>
      exports.get(exportWorkflowId(programId, exportId)),
    isRunning: async () => false,
    async startPurge({ type, id }, ownerId) {
      calls.push(`startPurge ${type} ${id} of ${ownerId}`);
    },
    async startBulkGrant({ programId, bulkGrantId }) {
      calls.push(`startBulkGrant ${programId} ${bulkGrantId}`);
    },
    async refreshBulkGrant({ programId, bulkGrantId }) {
      calls.push(`refreshBulkGrant ${programId} ${bulkGrantId}`);
    },
    async ensurePickUp({ name }) {
      calls.push(`ensurePickUp ${name}`);
    },
  };
}
