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
  startJob: async () => undefined,
  jobProgress: async ({ nothing }) => ({ isRunning: false, sum: nothing }),
  isRunning: async () => false,
  startPurge: async () => undefined,
  startBulkGrant: async () => undefined,
  refreshBulkGrant: async () => undefined,
  ensurePickUp: async () => undefined,
};
