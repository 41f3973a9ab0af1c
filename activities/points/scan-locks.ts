/** Lets the steps of a liability report or an export wait for the lock of their program. */
import { activityInfo } from "@temporalio/activity";
import type { Deps } from "../../src/hub/deps.ts";
import {
  releaseScanLock,
  type ScanRun,
  takeScanLock,
} from "../../src/points/use-cases/scan-lock.ts";
import { steps } from "../../workflows/timing.ts";
import { expected } from "../reservations/until-due.ts";

/**
 * Makes a step while its workflow has the lock. While another one has it, throws a failure that
 * Temporal retries later: operators see the id of that workflow with the pending activity. A step
 * that fails gives the lock up, so that a run which fails again and again holds up no other one.
 */
export async function withScanLock<T>(
  deps: Deps,
  of: Omit<ScanRun, "workflowId">,
  step: () => Promise<T>,
): Promise<T> {
  const { workflowExecution } = activityInfo();
  const scan = { ...of, workflowId: workflowExecution?.workflowId ?? "" };
  const other = await takeScanLock(deps, scan);
  if (other !== undefined) {
    const message = `waits until ${other} has ended: one of its kind runs in a program at a time`;
    throw expected("SCAN_LOCKED", message, steps.scanLockedMs);
  }
  try {
    return await step();
  } catch (error) {
    await releaseScanLock(deps, scan).catch(() => undefined);
    throw error;
  }
}
