/** The workflow of a reservation: waits until it is due and has its points granted. */
import { defineSearchAttributeKey } from "@temporalio/common";
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import {
  type RescheduleInput,
  type ReservationInput,
  type ReservationStep,
  type ReservationView,
  refreshSignal,
  searchAttributes,
} from "../src/contract.ts";
import { orRefusal, refusalOf, refuse } from "./failures.ts";

/** The signal upon which the workflow reads its row again. */
export const refresh = defineSignal(refreshSignal);

/** Returns what the workflow is doing, as text. */
export const state = defineQuery<string>("state");

/** The operator's Update that cancels the reservation, as the RPC does. */
export const cancel = defineUpdate<ReservationView>("cancel");

/** The operator's Update that reschedules the reservation, as the RPC does. */
export const reschedule = defineUpdate<ReservationView, [RescheduleInput]>("reschedule");

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

/** An operator waits for the answer of an Update, so the attempts are limited. */
const { cancelReservation, rescheduleReservation } = proxyActivities<Activities>({
  startToCloseTimeout: "10 seconds",
  retry: { initialInterval: "500 milliseconds", maximumAttempts: 5 },
});

/**
 * Waits until a reservation is due and has its points granted. The row decides: this workflow only
 * sleeps until the time that it has read, or until a refresh is requested, and then calls the
 * activity that reads the row.
 *
 * A refusal fails the workflow, not retryable, with the reason as the type of the failure.
 */
export async function reservation(input: ReservationInput): Promise<ReservationStep> {
  let due = input.executeTime;
  let waitMs = due - Date.now();
  let isRefreshRequested = false;
  const requestRefresh = () => {
    isRefreshRequested = true;
  };
  let details = "";
  const showDetails = (text: string) => {
    details = text;
    setCurrentDetails(text);
  };
  setHandler(refresh, requestRefresh);
  setHandler(state, () => details);
  setUpdates(input, requestRefresh);

  for (;;) {
    if (waitMs > 0 && !isRefreshRequested) {
      const until = new Date(due).toISOString();
      showDetails(`Waits until ${until}.`);
      await condition(() => isRefreshRequested, waitMs, { summary: `until ${until}` });
    }
    isRefreshRequested = false;
    showDetails("Reads the reservation and grants its points if they are due.");
    const step = await execute(input, showDetails);
    if (step.step !== "WAIT") return end(step, showDetails);
    if (step.executeTime !== due) {
      due = step.executeTime;
      upsertSearchAttributes([{ key: executeTimeKey, value: new Date(due) }]);
    }
    // Takes the longer time of both clocks, because a clock that is ahead would cause a busy loop.
    waitMs = Math.max(due - Date.now(), step.waitMs);
    // Continue-as-new would lose a requested refresh, and one that a running Update will request.
    const canContinueAsNew = !isRefreshRequested && allHandlersFinished();
    if (workflowInfo().continueAsNewSuggested && canContinueAsNew) {
      await continueAsNew<typeof reservation>({ ...input, executeTime: due });
    }
  }
}

/**
 * Executes the reservation: by a local activity first, then by an activity that is retried until it
 * succeeds or is refused.
 */
async function execute(
  input: ReservationInput,
  showDetails: (text: string) => void,
): Promise<ReservationStep> {
  try {
    return await orRefusal(executeLocally(input));
  } catch (error) {
    if (refusalOf(error) || isCancellation(error)) throw error;
    showDetails("The first attempt failed and is tried again; see the pending activity.");
    return await orRefusal(executeReservation(input));
  }
}

/** Ends the workflow in the final state of the row. */
async function end(
  step: Exclude<ReservationStep, { step: "WAIT" }>,
  showDetails: (text: string) => void,
): Promise<ReservationStep> {
  await condition(allHandlersFinished);
  if (step.step === "DONE") showDetails(`Granted: ledger entry ${step.entry}.`);
  else if (step.step === "CANCELLED") showDetails("Cancelled.");
  else showDetails(`Refused: ${step.reason}, ${step.message}.`);
  upsertSearchAttributes([{ key: stateKey, value: step.step }]);
  if (step.step !== "FAILED") return step;
  throw refuse(step.message, step.reason);
}

/** Handles the Updates: they change the row, as the RPCs do, and then request a refresh. */
function setUpdates(
  { program: programId, reservation: reservationId }: ReservationInput,
  requestRefresh: () => void,
): void {
  const key = { program: programId, reservation: reservationId };
  setHandler(cancel, async () => {
    const view = await orRefusal(cancelReservation(key));
    requestRefresh();
    return view;
  });
  setHandler(
    reschedule,
    async (input) => {
      const view = await orRefusal(rescheduleReservation(key, input));
      requestRefresh();
      return view;
    },
    { validator: checkReschedule },
  );
}

/** Validates the argument before the Update is written to the history. */
function checkReschedule(input: RescheduleInput): void {
  const time: unknown = input?.execute_time;
  if (typeof time !== "string" || !rfc3339.test(time) || Number.isNaN(Date.parse(time))) {
    throw refuse(
      'execute_time: must be RFC 3339 with a zone, such as "2026-12-01T00:00:00+09:00"',
      "INVALID_REQUEST",
    );
  }
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
