/** The workflows port without Temporal: records its calls, so that a test can compare them. */
import type { Verification, Workflows } from "../../../src/app/ports/workflows.ts";
import { verifyWorkflowId } from "../../../src/contract.ts";

/** `calls` has a line for each call, such as `startReservation default r-1`. */
export interface RecordingWorkflows extends Workflows {
  readonly calls: string[];
}

export function recordWorkflows(): RecordingWorkflows {
  const calls: string[] = [];
  const verifications = new Map<string, Verification>();
  return {
    calls,
    async startReservation({ programId, reservationId }) {
      calls.push(`startReservation ${programId} ${reservationId}`);
    },
    async signalRefresh({ programId, reservationId }, start) {
      calls.push(`signalRefresh ${programId} ${reservationId}${start ? " or start" : ""}`);
    },
    async ensureMonthEnd({ programId }) {
      calls.push(`ensureMonthEnd ${programId}`);
    },
    async startVerification(programId) {
      calls.push(`startVerification ${programId}`);
      verifications.set(programId, {
        workflowId: verifyWorkflowId(programId),
        startTime: 0,
        state: "RUNNING",
        accounts: 0,
        entries: 0,
        wrong: 0,
        reports: [],
      });
    },
    verification: async (programId) => verifications.get(programId),
    async startPurge({ type, id }, ownerId) {
      calls.push(`startPurge ${type} ${id} of ${ownerId}`);
    },
  };
}
