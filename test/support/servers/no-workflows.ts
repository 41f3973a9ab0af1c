/** The workflows port without Temporal: accepts every call and does nothing. */
import type { Workflows } from "../../../src/hub/deps.ts";

export const noWorkflows: Workflows = {
  isAway: () => false,
  startReservation: async () => undefined,
  refreshReservation: async () => undefined,
  cancelReservationRun: async () => undefined,
  refreshPaused: async () => undefined,
  countPaused: async () => 0,
  async *brokenRuns() {},
  async *overdueRuns() {},
  terminateRun: async () => undefined,
  startHold: async () => undefined,
  refreshHold: async () => undefined,
  ensureMonthEnd: async () => undefined,
  ensureExpiryNotices: async () => undefined,
  startVerification: async () => undefined,
  verification: async () => undefined,
  startLiabilityReport: async () => undefined,
  startExport: async () => undefined,
  ledgerExport: async () => undefined,
  isRunning: async () => false,
  startPurge: async () => undefined,
  startBulkGrant: async () => undefined,
  refreshBulkGrant: async () => undefined,
  ensurePickUp: async () => undefined,
};
