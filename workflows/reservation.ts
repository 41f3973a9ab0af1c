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

/** Makes the workflow look at its row again. */
export const refresh = defineSignal(refreshSignal);

/** What the workflow waits for, in words. */
export const state = defineQuery<string>("state");

/** For operators: cancels the reservation, as the RPC does. */
export const cancel = defineUpdate<ReservationView>("cancel");

/** For operators: moves the reservation, as the RPC does. */
export const reschedule = defineUpdate<ReservationView, [RescheduleInput]>("reschedule");

const executeTimeKey = defineSearchAttributeKey(searchAttributes.executeTime, "DATETIME");
const stateKey = defineSearchAttributeKey(searchAttributes.state, "KEYWORD");

/** The quick way: part of the workflow task, so it leaves one event instead of five. */
const { executeReservation: tryReservation } = proxyLocalActivities<Activities>({
  startToCloseTimeout: "3 seconds",
  scheduleToCloseTimeout: "6 seconds",
  retry: { maximumAttempts: 1 },
});

/** The patient way: waits as a pending activity, where the Web UI shows why. */
const { executeReservation } = proxyActivities<Activities>({
  startToCloseTimeout: "15 seconds",
  retry: { initialInterval: "1 second", backoffCoefficient: 1.5, maximumInterval: "15 seconds" },
});

/** An operator waits for the answer, so these do not try for ever. */
const { cancelReservation, rescheduleReservation } = proxyActivities<Activities>({
  startToCloseTimeout: "10 seconds",
  retry: { initialInterval: "500 milliseconds", maximumAttempts: 5 },
});

/**
 * Waits for a reservation's time and has its points granted. The row decides: this only sleeps
 * until the time it knows of, or until it is told to look, and then does what the row says.
 *
 * Fails, not retryable, with the reason of a refusal as the failure's type.
 */
export async function reservation(input: ReservationInput): Promise<ReservationStep> {
  let due = input.executeTime;
  let waitMs = due - Date.now();
  let looks = false;
  let doing = "";
  const tell = (what: string) => {
    doing = what;
    setCurrentDetails(what);
  };
  setHandler(refresh, () => {
    looks = true;
  });
  setHandler(state, () => doing);
  setUpdates(input, () => {
    looks = true;
  });

  for (;;) {
    if (waitMs > 0 && !looks) {
      const until = new Date(due).toISOString();
      tell(`Waits until ${until}.`);
      await condition(() => looks, waitMs, { summary: `until ${until}` });
    }
    looks = false;
    tell("Looks at the reservation and grants its points if they are due.");
    const step = await execute(input, tell);
    if (step.step !== "WAIT") return end(step, tell);
    if (step.executeTime !== due) {
      due = step.executeTime;
      upsertSearchAttributes([{ key: executeTimeKey, value: new Date(due) }]);
    }
    // By whichever clock it is longer, so that one that is ahead does not make this loop spin.
    waitMs = Math.max(due - Date.now(), step.waitMs);
    // A look that is asked for, or about to be by an update, must not get lost in between.
    if (workflowInfo().continueAsNewSuggested && !looks && allHandlersFinished()) {
      await continueAsNew<typeof reservation>({ ...input, executeTime: due });
    }
  }
}

/** Asks the row what to do, and does it: the quick way first, then for as long as it takes. */
async function execute(
  input: ReservationInput,
  tell: (what: string) => void,
): Promise<ReservationStep> {
  try {
    return await orRefusal(tryReservation(input));
  } catch (error) {
    if (refusalOf(error) || isCancellation(error)) throw error;
    tell("Cannot be done right now and is tried again and again; see the pending activity.");
    return await orRefusal(executeReservation(input));
  }
}

/** Closes the workflow in the state that the row has come to. */
async function end(
  step: Exclude<ReservationStep, { step: "WAIT" }>,
  tell: (what: string) => void,
): Promise<ReservationStep> {
  await condition(allHandlersFinished);
  if (step.step === "DONE") tell(`Granted: ledger entry ${step.entry}.`);
  else if (step.step === "CANCELLED") tell("Cancelled.");
  else tell(`Refused: ${step.reason}, ${step.message}.`);
  upsertSearchAttributes([{ key: stateKey, value: step.step }]);
  if (step.step !== "FAILED") return step;
  throw refuse(step.message, step.reason);
}

/** The updates act on the row, as the RPCs do, and then make the workflow look at it. */
function setUpdates(
  { program: programId, reservation: reservationId }: ReservationInput,
  onChanged: () => void,
): void {
  const key = { program: programId, reservation: reservationId };
  setHandler(cancel, async () => {
    const view = await orRefusal(cancelReservation(key));
    onChanged();
    return view;
  });
  setHandler(
    reschedule,
    async (to) => {
      const view = await orRefusal(rescheduleReservation(key, to));
      onChanged();
      return view;
    },
    { validator: checkReschedule },
  );
}

/** Refuses before anything is written to the history. */
function checkReschedule(to: RescheduleInput): void {
  const time: unknown = to?.execute_time;
  if (typeof time !== "string" || !rfc3339.test(time) || Number.isNaN(Date.parse(time))) {
    throw refuse(
      'execute_time: must be RFC 3339 with a zone, such as "2026-12-01T00:00:00+09:00"',
      "INVALID_REQUEST",
    );
  }
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
