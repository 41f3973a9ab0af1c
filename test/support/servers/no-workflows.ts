import type { Workflows } from "../../../src/app/ports/workflows.ts";

/** A Temporal that takes everything and does nothing. */
export const noWorkflows: Workflows = {
  startReservation: async () => undefined,
  signalRefresh: async () => undefined,
  ensureMonthEnd: async () => undefined,
  startVerification: async () => undefined,
  verification: async () => undefined,
  startPurge: async () => undefined,
};
