/** Turns what an attempt has done into the step that the workflow gets. */
import type { Execution } from "../src/app/reservations/execute.ts";
import type { ReservationStep } from "../src/contract/reservations.ts";
import { displayCaller } from "../src/domain/caller.ts";
import { DomainError } from "../src/domain/errors.ts";
import { formatInstant, type Instant } from "../src/domain/month.ts";
import { latenessOf, type Reservation } from "../src/domain/reservation.ts";

/** `runId` is the run that reads the step. */
export function toStep(execution: Execution, timeZone: string, runId: string): ReservationStep {
  const { outcome, reservation } = execution;
  switch (outcome) {
    case "WAIT":
      return {
        step: "WAIT",
        execute_time: formatInstant(finite(reservation.executeTime), timeZone),
        ...(reservation.lastChange && changeOf(reservation)),
      };
    case "PAUSED": {
      const { caller, reason } = execution.pause;
      return { step: "PAUSED", paused_by: displayCaller(caller), reason };
    }
    case "DONE":
      return {
        step: "DONE",
        points: reservation.points,
        balance: execution.balance,
        executed_time: formatInstant(reservation.grant?.time ?? reservation.updateTime, timeZone),
        lateness_ms: latenessOf(reservation),
        entry_number: reservation.grant?.entryNumber ?? 0,
      };
    case "CANCELLED":
      return { step: "CANCELLED", ...changeOf(reservation) };
    case "FAILED":
      return { step: "FAILED", ...failureOf(reservation), run_id: runId };
  }
}

const changeOf = ({ lastChange, creator }: Reservation) => ({
  changed_by: displayCaller(lastChange?.caller ?? creator),
  reason: lastChange?.reason ?? "",
});

const failureOf = ({ failure }: Reservation) =>
  failure ?? { reason: "INTERNAL", message: "the record has no reason for its failure" };

/** A record that was stored with an execute time that is no number cannot be waited for. */
function finite(executeTime: Instant): Instant {
  if (Number.isFinite(executeTime)) return executeTime;
  throw new DomainError("INVALID_REQUEST", "the record has no finite execute time");
}
