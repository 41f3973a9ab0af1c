/** The workflow of a reservation: waits until it is due and has its points granted. */
import { CancelledFailure } from "@temporalio/common";
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  proxyActivities,
  proxyLocalActivities,
  sleep,
  workflowInfo,
} from "@temporalio/workflow";
import type { Activities } from "../../activities/index.ts";
import type { GrantInput, ReservationInput } from "../../src/reservations/contract/payloads.ts";
import {
  drawLeadMs,
  type FinalStep,
  isFinal,
  type ReservationStep,
  reservationLead,
} from "../../src/reservations/contract/reservations.ts";
import { refuse, unwrapRefusal } from "../failures.ts";
import { leftMsUntil, requireFields } from "../inputs.ts";
import { reservationTiming } from "../timing.ts";
import { createRun, type Run } from "./reservation-run.ts";
import { createView } from "./reservation-view.ts";

const { leadSlackMs, longestMs, pausedMs } = reservationTiming;

/** Reads the record after a change: a local activity, which adds one event to the history. */
const { grantNow } = proxyLocalActivities<Activities>(reservationTiming.grantNow);

/**
 * Waits until a reservation is due and has its points granted. The record decides, and this
 * workflow follows it. Cancelling the run cancels the reservation, unless its points are granted
 * already.
 *
 * A refusal fails the workflow, not retryable, with the reason as the type of the failure.
 */
export async function reservation(input: ReservationInput): Promise<ReservationStep> {
  requireInput(input);
  const run = createRun(input);
  const last = await CancellationScope.nonCancellable(() => followRecord(input, run));
  if (last.step !== "CANCELLED") return last;
  const { runId, originalExecutionRunId } = workflowInfo();
  // A reset run does not have the request that has ended the run before it as Canceled.
  if (runId !== originalExecutionRunId) await run.requestCancellation();
  // Temporal shows the run as Canceled only for this failure.
  if (run.isCancelRequested()) throw new CancelledFailure("the reservation is cancelled");
  return last;
}

/** Follows the record until it is final. */
async function followRecord(input: ReservationInput, run: Run): Promise<FinalStep> {
  const view = createView(input, run);
  let executeTime = input.execute_time_at_start;
  const { program_id, reservation_id, user_id } = input;
  const { originalExecutionRunId: original_run_id } = workflowInfo();
  const fixed = { program_id, reservation_id, user_id, original_run_id };
  const drawnLeadMs = drawLeadMs();
  let step: ReservationStep = { step: "WAIT", execute_time: executeTime };
  for (;;) {
    // A run that was reset finds the refusal of another run in its history, and tries again.
    const wasReset = step.step === "FAILED" && step.run_id !== workflowInfo().runId;
    if (wasReset) step = { step: "WAIT", execute_time: executeTime };
    if (step.step === "WAIT") executeTime = step.execute_time;
    view.show(step);
    if (isFinal(step)) {
      await condition(allHandlersFinished);
      if (!run.isRefreshRequested()) return end(step);
    }
    await continueWhenLong(input, run, executeTime);
    const current: ReservationStep = step;
    const lead_ms = leadMsAt(executeTime, drawnLeadMs);
    const grantInput: GrantInput = { ...fixed, execute_time: executeTime, lead_ms };
    const next: ReservationStep | undefined = await run.untilRefresh(() =>
      proceed(current, grantInput),
    );
    step = next ?? (await readChangedRecord(grantInput, run));
  }
}

/** Ends the run: with the result, or with the failure that has the reason of the refusal. */
function end(step: FinalStep): FinalStep {
  if (step.step !== "FAILED") return step;
  throw refuse(step.message, step.reason);
}

/** Does what follows from a step that is not final. Returns the answer of the activity. */
async function proceed(step: ReservationStep, input: GrantInput): Promise<ReservationStep> {
  switch (step.step) {
    case "WAIT":
      return grantWhenDue(input);
    case "RETRY":
      return grantAgain(input);
    case "PAUSED":
      await sleep(pausedMs * (0.5 + Math.random() / 2));
      return grantAgain(input);
    default:
      throw new Error(`${step.step} is final`);
  }
}

/** Longer than the lead for a run that begins with its lead, so that its activity holds at once. */
function leadMsAt(executeTime: string, drawnLeadMs: number): number {
  const longestLeadMs = reservationLead.mostMs + leadSlackMs;
  return leftMsUntil(executeTime) > longestLeadMs ? drawnLeadMs : longestLeadMs;
}

/**
 * Schedules the activity that holds until the execute time. That of a run that has begun long
 * before, because something has changed, first fails with the time until it has to wake up as its
 * retry delay: a retry adds no events to the history, and needs no workflow task, which a worker
 * that was killed could delay.
 */
function grantWhenDue(input: GrantInput): Promise<ReservationStep> {
  const heldMs = Math.max(0, Math.min(input.lead_ms, leftMsUntil(input.execute_time)));
  const { grantWhenDue } = proxyActivities<Activities>({
    // Without heartbeats: when its worker dies, a sweep of another one grants in time.
    startToCloseTimeout: heldMs + longestMs,
    ...reservationTiming.grantWhenDue,
  });
  return unwrapRefusal(grantWhenDue(input));
}

/** Tries until the store answers. The Web UI shows the last failure of the pending activity. */
function grantAgain(input: GrantInput): Promise<ReservationStep> {
  const { grantAgain } = proxyActivities<Activities>({
    ...reservationTiming.grantAgain,
    summary: "again, until the store answers",
  });
  return unwrapRefusal(grantAgain(input));
}

/** Reads the record after a requested refresh. A requested cancellation changes it first. */
async function readChangedRecord(input: GrantInput, run: Run): Promise<ReservationStep> {
  run.takeRefresh();
  await run.cancelIfRequested();
  return unwrapRefusal(grantNow(input));
}

/**
 * Continues as new when the history is long and nothing would be lost with this run. Temporal lets
 * the run that follows begin when this one was to begin, before a change ended the delay of its
 * start: that would be too late for a reservation that was moved to an earlier time.
 */
async function continueWhenLong(
  input: ReservationInput,
  run: Run,
  executeTime: string,
): Promise<void> {
  const isIdle = !run.isRefreshRequested() && allHandlersFinished();
  const isEarlier = leftMsUntil(executeTime) < leftMsUntil(input.execute_time_at_start);
  if (!workflowInfo().continueAsNewSuggested || !isIdle || isEarlier) return;
  await continueAsNew<typeof reservation>({ ...input, execute_time_at_start: executeTime });
}

function requireInput(input: ReservationInput): void {
  const ids = { program_id: "string", reservation_id: "string", user_id: "string" } as const;
  const expiry = { expire_month: "string?", expire_after_months: "number?" } as const;
  const shown = { reason: "string?", cause: "string?", reserved_by: "string?" } as const;
  const reserved = { points: "number", execute_time_at_start: "time", ...expiry } as const;
  requireFields(input, { ...ids, ...reserved, ...shown, traceparent: "string?" });
}
