/**
 * The workflow of reservations that started before the grant activity held until the execute time.
 * It stays as long as such a run may sleep: up to five years.
 */
import { defineSearchAttributeKey } from "@temporalio/common";
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  upsertSearchAttributes,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import {
  type OldReservationInput,
  type OldReservationStep,
  searchAttributes,
} from "../src/contract.ts";
import { orRefusal, refusalOf, refuse } from "./failures.ts";
import type { Run } from "./reservation-run.ts";

const executeTimeKey = defineSearchAttributeKey(searchAttributes.executeTime, "DATETIME");
const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");

/** The first attempt: a local activity, which adds one event to the history instead of five. */
const { executeReservation: executeLocally } = proxyLocalActivities<Activities>({
  startToCloseTimeout: "3 seconds",
  scheduleToCloseTimeout: "6 seconds",
  retry: { maximumAttempts: 1 },
});

/** Further attempts: a pending activity, whose last failure the Web UI shows. */
const { executeReservation } = proxyActivities<Activities>({
  startToCloseTimeout: "15 seconds",
  retry: { initialInterval: "1 second", backoffCoefficient: 1.5, maximumInterval: "15 seconds" },
});

/**
 * Waits until a reservation is due and has its points granted. The row decides: this workflow only
 * sleeps until the time that it has read, or until a refresh is requested, and then calls the
 * activity that reads the row.
 *
 * A refusal fails the workflow, not retryable, with the reason as the type of the failure.
 */
export async function oldReservation(
  input: OldReservationInput,
  run: Run,
): Promise<OldReservationStep> {
  let due = input.executeTime;
  let waitMs = due - Date.now();
  for (;;) {
    if (waitMs > 0 && !run.isRefreshRequested()) {
      const until = new Date(due).toISOString();
      run.showDetails(`Waits until ${until}.`);
      await condition(() => run.isRefreshRequested(), waitMs, { summary: `until ${until}` });
    }
    run.takeRefresh();
    await run.cancelIfRequested();
    run.showDetails("Reads the reservation and grants its points if they are due.");
    const step = await execute(input, run);
    if (step.step !== "WAIT") return end(step, run);
    if (!Number.isFinite(step.executeTime)) {
      throw refuse("the row has no finite execute time", "INVALID_REQUEST");
    }
    if (step.executeTime !== due) {
      due = step.executeTime;
      upsertSearchAttributes([{ key: executeTimeKey, value: new Date(due) }]);
    }
    // Takes the longer time of both clocks, because a clock that is ahead would cause a busy loop.
    waitMs = Math.max(due - Date.now(), step.waitMs);
    // Continue-as-new would lose a requested refresh, and one that a running Update will request.
    const canContinueAsNew = !run.isRefreshRequested() && allHandlersFinished();
    if (workflowInfo().continueAsNewSuggested && canContinueAsNew) {
      await continueAsNew({ ...input, executeTime: due });
    }
  }
}

/**
 * Executes the reservation: by a local activity first, then by an activity that is retried until it
 * succeeds or is refused.
 */
async function execute(input: OldReservationInput, run: Run): Promise<OldReservationStep> {
  const attempt = { ...input, original_run_id: workflowInfo().originalExecutionRunId };
  try {
    return await orRefusal(executeLocally(attempt));
  } catch (error) {
    if (refusalOf(error) || isCancellation(error)) throw error;
    run.showDetails("The first attempt failed and is tried again; see the pending activity.");
    return await orRefusal(executeReservation(attempt));
  }
}

/** Ends the workflow in the final state of the row. */
async function end(
  step: Exclude<OldReservationStep, { step: "WAIT" }>,
  run: Run,
): Promise<OldReservationStep> {
  await condition(allHandlersFinished);
  if (step.step === "DONE") run.showDetails(`Granted: ledger entry ${step.entry}.`);
  else if (step.step === "CANCELLED") run.showDetails("Cancelled.");
  else run.showDetails(`Refused: ${step.reason}, ${step.message}.`);
  upsertSearchAttributes([{ key: stateKey, value: step.step }]);
  if (step.step !== "FAILED") return step;
  throw refuse(step.message, step.reason);
}
