/** The workflows port without Temporal: records its calls, so that a test can compare them. */

import type { Workflows } from "../../../src/hub/deps.ts";
import { idOf } from "../fixtures/record-names.ts";

/** `calls` has a line for each call, such as `startReservation default r-1`. */
export interface RecordingWorkflows extends Workflows {
  readonly calls: string[];
}

export function recordWorkflows(): RecordingWorkflows {
  const calls: string[] = [];
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
    async startJob({ name }, { programId, jobId }) {
      calls.push(`startJob ${name} ${programId} ${jobId}`);
    },
    jobProgress: async ({ nothing }) => ({ isRunning: true, sum: nothing }),
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
