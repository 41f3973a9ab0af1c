/** Stands in for Temporal where a test is not about it: notes what it was asked to do. */
import type { Verification, Workflows } from "../../../src/app/ports/workflows.ts";
import { verifyWorkflowId } from "../../../src/contract.ts";

/** One thing asked, such as `startReservation default r-1`. */
export interface RecordingWorkflows extends Workflows {
  readonly asked: string[];
}

export function recordWorkflows(): RecordingWorkflows {
  const asked: string[] = [];
  const verifications = new Map<string, Verification>();
  return {
    asked,
    async startReservation({ programId, reservationId }) {
      asked.push(`startReservation ${programId} ${reservationId}`);
    },
    async signalRefresh({ programId, reservationId }, start) {
      asked.push(`signalRefresh ${programId} ${reservationId}${start ? " or start" : ""}`);
    },
    async ensureMonthEnd({ programId }) {
      asked.push(`ensureMonthEnd ${programId}`);
    },
    async startVerification(programId) {
      asked.push(`startVerification ${programId}`);
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
      asked.push(`startPurge ${type} ${id} of ${ownerId}`);
    },
  };
}
