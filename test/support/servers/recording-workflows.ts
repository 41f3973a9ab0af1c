/** Stands in for Temporal where a test is not about it: notes what it was asked to do. */
import type { Verification, Workflows } from "../../../src/app/ports/deps.ts";
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
    async startReservation({ program, id }) {
      asked.push(`startReservation ${program} ${id}`);
    },
    async wakeReservation({ program, id }, start) {
      asked.push(`wakeReservation ${program} ${id}${start ? " or start" : ""}`);
    },
    async ensureMonthEnd({ id }) {
      asked.push(`ensureMonthEnd ${id}`);
    },
    async startVerification(program) {
      asked.push(`startVerification ${program}`);
      verifications.set(program, {
        workflowId: verifyWorkflowId(program),
        startTime: 0,
        state: "RUNNING",
        accounts: 0,
        entries: 0,
        wrong: 0,
        reports: [],
      });
    },
    verification: async (program) => verifications.get(program),
    async startRemoval({ type, id }, owner) {
      asked.push(`startRemoval ${type} ${id} of ${owner}`);
    },
  };
}
