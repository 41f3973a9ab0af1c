/** The activities that grant a reservation, and that change it for operators. */
import { activityInfo, log, sleep } from "@temporalio/activity";
import { ApplicationFailure, TemporalFailure } from "@temporalio/common";
import type { z } from "zod";
import type { NotifyDeps } from "../../src/feed/use-cases/notifications/notify.ts";
import type { Deps } from "../../src/hub/deps.ts";
import type { Observers } from "../../src/hub/observers.ts";
import { changeInput } from "../../src/platform/contract/payloads.ts";
import type { CallLimits } from "../../src/platform/ports/call.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import type { Program } from "../../src/points/rules/program.ts";
import {
  changePointsInput,
  type Grant,
  grantInput,
  rescheduleInput,
  reservationKey,
} from "../../src/reservations/contract/payloads.ts";
import type {
  ReservationStep,
  ReservationView,
} from "../../src/reservations/contract/reservations.ts";
import { type ChangeRequest, whyRetryFails } from "../../src/reservations/rules/reservation.ts";
import {
  cancelReservation,
  changeReservationPoints,
  rescheduleReservation,
  retryReservation,
} from "../../src/reservations/use-cases/commands.ts";
import {
  type Execution,
  executeReservation,
  type Granted,
} from "../../src/reservations/use-cases/execute.ts";
import { notifyGranted } from "../../src/reservations/use-cases/notify-granted.ts";
import type { VisibleReservation } from "../../src/reservations/use-cases/visible-reservation.ts";
import { grantTiming } from "../../workflows/timing.ts";
import { checked } from "../checked.ts";
import { unexpectedMessage } from "../failures.ts";
import { auditOf, fromTemporal } from "../operators.ts";
import { createDueGrantQueue } from "./due-grant-queue.ts";
import { toStep } from "./reservation-steps.ts";
import { failIfStopping, holdUntil, notDue } from "./until-due.ts";

const { firstMs, againMs, completionMs, silentMs, lookMs } = grantTiming;

export function reservationActivities(
  deps: Deps,
  { onDone, onFailed, pastDue }: Pick<Observers, "onDone" | "onFailed" | "pastDue">,
) {
  const queue = createDueGrantQueue();

  async function execute(grant: Grant): Promise<Execution> {
    const resetTime = resetTimeOf(grant.originalRunId);
    const execution = await executeReservation(deps, { ...grant, resetTime });
    if (execution.outcome === "DONE") {
      // Before the notification: an attempt that is repeated for it finds an earlier grant.
      pastDue.settle(grant);
      onDone(execution.reservation, execution.cause);
      await notify(deps, execution);
    }
    if (execution.outcome === "FAILED" && execution.isNew) {
      onFailed("reservation", execution.reservation.failure?.reason ?? "");
    }
    return execution;
  }

  async function stepOf(execution: Execution): Promise<ReservationStep> {
    const program = await deps.programs.get(execution.reservation.programId);
    const { timeZone } = program;
    const retryRefusal = await retryRefusalOf(program, execution);
    return toStep(execution, { timeZone, runId: currentRunId(), retryRefusal });
  }

  /** Reads the clock only for a failed reservation whose points end early. */
  async function retryRefusalOf(
    program: Program,
    { outcome, reservation }: Execution,
  ): Promise<string | undefined> {
    if (outcome !== "FAILED" || !reservation.expiry) return undefined;
    return whyRetryFails(program, reservation, (await deps.clock.now()).calendar);
  }

  /** Makes one attempt. Returns RETRY when the store is silent, and throws any other error. */
  async function attempt(grant: Grant): Promise<ReservationStep> {
    const step = await unlessSilent(deps, execute(grant).then(stepOf));
    return step ?? toRetry(new DomainError("STORE_UNAVAILABLE", "the store gave no answer"));
  }

  /** Whether the workflow shows this error, because another attempt soon is of no use. */
  const isShown = (grant: Grant, error: unknown): boolean =>
    Date.now() >= dueSince(grant) + firstMs ||
    deps.storeSilenceMs() >= silentMs ||
    (error instanceof DomainError && error.reason === "STORE_REFUSES");

  /**
   * Attempts to grant until an attempt has an answer: a retry by Temporal would cost the time that
   * other grants of a burst need. A repeated attempt joins the queue behind them. Returns RETRY
   * after an error 20 s after the grant is due or later, and at once while the store hangs, also
   * for an error that comes at once, such as that of a stale program, or refuses.
   */
  async function attemptInTurn(grant: Grant): Promise<ReservationStep> {
    for (;;) {
      try {
        return await queue.run(async () => {
          failIfStopping();
          return attempt(grant);
        });
      } catch (error) {
        if (isShown(grant, error)) return toRetry(error);
        if (!(error instanceof DomainError && error.retryable)) throw error;
        await sleep(againMs);
      }
    }
  }

  async function holdAndAttempt(grant: Grant): Promise<ReservationStep> {
    try {
      await holdUntil(deps.clock, grant.executeTime.instant);
    } catch (error) {
      return toRetry(error);
    }
    const step = await attemptInTurn(grant);
    // The work after the completion takes four fifths of the CPU time of a grant.
    const { currentAttemptScheduledTimestampMs: begun, startToCloseTimeoutMs } = activityInfo();
    await queue.untilAllEnded(begun + startToCloseTimeoutMs - completionMs - Date.now());
    return step;
  }

  /**
   * Returns what follows from the record for a run that was reset: its history may end before a
   * move, so that it waits for another time than the record's. Returns undefined when the time is
   * that of the record, and for a run that was not reset.
   */
  async function stepAfterReset(grant: Grant): Promise<ReservationStep | undefined> {
    if (resetTimeOf(grant.originalRunId) === undefined) return undefined;
    const step = await stepOf(await execute(grant));
    const isKnown = step.step === "WAIT" && step.execute_time === grant.executeTime.shown;
    return isKnown ? undefined : step;
  }

  return {
    /**
     * Holds until the execute time, then grants the points. Fails with NOT_DUE and a retry delay
     * when it is too early to hold. Returns RETRY while the clock is off, and after retryable
     * errors for 10 s, so that the workflow can show it.
     */
    grantWhenDue: checked([grantInput], (grant) =>
      held(pastDue, grant, async () => {
        const { executeTime, leadMs } = grant;
        try {
          const leftMs = executeTime.instant - (await deps.clock.now()).wall;
          if (leftMs > leadMs) {
            const step = await stepAfterReset(grant);
            if (step) return step;
            throw notDue(executeTime.shown, leftMs - leadMs);
          }
        } catch (error) {
          return toRetry(error);
        }
        return holdAndAttempt(grant);
      }),
    ),

    /**
     * Grants the points if they are due. Otherwise returns what follows from the record, and RETRY
     * after an error: it is a local activity, whose next attempt would take place in the same
     * workflow task, of which a worker has few.
     */
    grantNow: checked([grantInput], (grant) =>
      held(pastDue, grant, () => attempt(grant).catch(toRetry)),
    ),

    /** As `grantNow`, but fails after a retryable error, so that Temporal tries again. */
    grantAgain: checked([grantInput], (grant) =>
      held(pastDue, grant, async () => stepOf(await execute(grant))),
    ),

    ...changeActivities(deps),
  };
}

/** The activities that change a reservation for operators. */
function changeActivities(deps: Deps) {
  const depsWithoutSignal = withoutSignal(deps);
  return {
    /** Cancels the reservation, as the RPC does. */
    cancelReservation: checked([reservationKey, changeInput.nullish()], async (name, change) =>
      toView(await cancelReservation(deps, { ...name, ...toChange(change, "CancelReservation") })),
    ),

    /** Asks Temporal to cancel the newest run of the reservation. */
    cancelReservationRun: checked([reservationKey], (name) =>
      deps.workflows.cancelReservationRun(name),
    ),

    /** Reschedules the reservation, as the RPC does. */
    rescheduleReservation: checked([reservationKey, rescheduleInput], async (name, change) => {
      const { executeTime, allowPastExecuteTime } = change;
      const by = toChange(change, "RescheduleReservation");
      const request = { ...name, ...by, executeTime, allowPastExecuteTime };
      return toView(await rescheduleReservation(depsWithoutSignal, request));
    }),

    /** Lowers or raises the points of the reservation, as the RPC does. */
    changeReservationPoints: checked([reservationKey, changePointsInput], async (name, change) => {
      const by = toChange(change, "ChangeReservationPoints");
      const request = { ...name, ...by, points: change.points };
      return toView(await changeReservationPoints(depsWithoutSignal, request));
    }),

    /** Retries the reservation, as the RPC does. */
    retryReservation: checked([reservationKey, changeInput.nullish()], async (name, change) => {
      const request = { ...name, ...toChange(change, "RetryReservation") };
      return toView(await retryReservation(depsWithoutSignal, request));
    }),
  };
}

/**
 * Notifies the user of a grant. Throws a retryable error, so that the attempt is repeated. Only
 * logs any other error: it would come again with every attempt, and the run would never end.
 */
async function notify(deps: NotifyDeps, granted: Granted): Promise<void> {
  try {
    await notifyGranted(deps, granted);
  } catch (error) {
    if (error instanceof DomainError && error.retryable) throw error;
    const { programId, reservationId } = granted.reservation;
    log.error("could not notify of a reserved grant", { programId, reservationId, err: error });
  }
}

/** The run that handles an Update reads its record again by itself, so it needs no signal. */
const withoutSignal = (deps: Deps): Deps => ({
  ...deps,
  workflows: { ...deps.workflows, refreshReservation: async () => {} },
});

/** Keeps in the worker's memory that a reservation is held, until an attempt settles it. */
async function held(
  pastDue: Observers["pastDue"],
  grant: Grant,
  work: () => Promise<ReservationStep>,
): Promise<ReservationStep> {
  const end = pastDue.begin(grant, dueSince(grant));
  try {
    const step = await work();
    if (step.step !== "RETRY") pastDue.settle(grant);
    return step;
  } catch (error) {
    if (!willBeRepeated(error)) pastDue.settle(grant);
    throw error;
  } finally {
    end();
  }
}

/** When a reservation has become due, or when its activity was scheduled, if that was later. */
const dueSince = ({ executeTime }: Grant): number =>
  Math.max(executeTime.instant, activityInfo().scheduledTimestampMs);

/**
 * Returns undefined when the store is silent. The work then goes on beside the next attempt, and
 * the record decides between them. Two looks have to find the silence: after the event loop was
 * blocked, answers that have arrived are read between them.
 */
async function unlessSilent<T>(
  { storeSilenceMs }: Pick<Deps, "storeSilenceMs">,
  work: Promise<T>,
): Promise<T | undefined> {
  const { promise: silent, resolve } = Promise.withResolvers<undefined>();
  let silentLooks = 0;
  const look = setInterval(() => {
    silentLooks = storeSilenceMs() >= silentMs ? silentLooks + 1 : 0;
    if (silentLooks === 2) resolve(undefined);
  }, lookMs);
  try {
    return await Promise.race([work, silent]);
  } finally {
    clearInterval(look);
  }
}

/** Whether Temporal makes another attempt soon. A refusal ends the attempts. */
const willBeRepeated = (error: unknown): boolean =>
  error instanceof DomainError
    ? error.retryable
    : !(error instanceof ApplicationFailure && error.type === "NOT_DUE");

const currentRunId = (): string => activityInfo().workflowExecution?.runId ?? "";

/** When the run of this activity was reset at the latest; undefined when it was not reset. */
function resetTimeOf(originalRunId: string): number | undefined {
  const wasReset = originalRunId !== currentRunId();
  return wasReset ? activityInfo().scheduledTimestampMs : undefined;
}

/** Returns the step of a retryable error and of an unexpected one. Throws a refusal. */
function toRetry(error: unknown): ReservationStep {
  if (error instanceof TemporalFailure) throw error;
  if (!(error instanceof DomainError)) {
    log.error(unexpectedMessage, { err: error });
    return { step: "RETRY", reason: "INTERNAL", message: unexpectedMessage };
  }
  if (!error.retryable) throw error;
  return { step: "RETRY", reason: error.reason, message: error.message };
}

/** An Update without an argument has `null` when it was sent by the Web UI. */
function toChange(
  change: z.output<typeof changeInput> | null | undefined,
  method: string,
): ChangeRequest & Pick<CallLimits, "audit"> {
  const { subject, reason = "" } = change ?? {};
  const caller = fromTemporal(subject);
  return { caller, reason, audit: auditOf(caller, method) };
}

const toView = ({ reservation, state }: VisibleReservation): ReservationView => ({
  state,
  execute_time: new Date(reservation.executeTime).toISOString(),
  points: reservation.points,
});
