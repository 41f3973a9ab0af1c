/** Lets the steps of a liability report or an export wait for the turn of their run. */
import { activityInfo } from "@temporalio/activity";
import { takeScanTurn } from "../src/app/points/scan-turn.ts";
import type { Deps } from "../src/app/ports/deps.ts";
import { steps } from "../workflows/timing.ts";
import { expected } from "./until-due.ts";

/**
 * Throws a failure that Temporal retries later while another run has the turn: operators see the id
 * of that run with the pending activity.
 */
export async function requireScanTurn(
  deps: Deps,
  scan: Omit<Parameters<typeof takeScanTurn>[1], "workflowId">,
): Promise<void> {
  const { workflowExecution } = activityInfo();
  const workflowId = workflowExecution?.workflowId ?? "";
  const other = await takeScanTurn(deps, { ...scan, workflowId });
  if (other === undefined) return;
  const message = `waits until ${other} has ended: one of its kind runs in a program at a time`;
  throw expected("NOT_ITS_TURN", message, steps.turnMs);
}
