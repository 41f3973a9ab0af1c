/** Turns what an attempt has done into the step that the workflow gets. */
import type { Execution } from "../src/app/reservations/execute.ts";
import type { ReservationStep } from "../src/contract/reservations.ts";
import { displayCaller } from "../src/domain/caller.ts";
import { DomainError } from "../src/domain/errors.ts";
import { formatInstant, type Instant } from "../src/domain/month.ts";
import { latenessOf, type Reservation } from "../src/domain/reservation.ts";

/** `runId` is the run that reads the step. */
export function toStep(execution: Execution, timeZone: string, runId: string): ReservationStep {
  const { outcome, row } = execution;
  switch (outcome) {
    case "WAIT":
      return {
        step: "WAIT",
        execute_time: formatInstant(finite(row.executeTime), timeZone),
        ...(row.updateTime !== row.createTime && changeOf(row)),
      };
    case "PAUSED": {
      const { caller, reason } = execution.pause;
      return { step: "PAUSED", paused_by: displayCaller(caller), reason };
    }
    case "DONE":
      return {
        step: "DONE",
        points: row.points,
        balance: execution.balance,
        executed_time: formatInstant(row.executed?.time ?? row.updateTime, timeZone),
        lateness_ms: latenessOf(row),
        entry_number: row.executed?.entryNumber ?? 0,
      };
    case "CANCELLED":
      return { step: "CANCELLED", ...changeOf(row) };
    case "FAILED":
      return { step: "FAILED", ...failureOf(row), run_id: runId };
  }
}

const changeOf = ({ changedBy, changeReason = "" }: Reservation) => ({
  changed_by: displayCaller(changedBy),
  reason: changeReason,
});

const failureOf = ({ failure }: Reservation) =>
  failure ?? { reason: "INTERNAL", message: "the row has no reason for its failure" };

/** A row that was stored with an execute time that is no number cannot be waited for. */
function finite(executeTime: Instant): Instant {
  if (Number.isFinite(executeTime)) return executeTime;
  throw new DomainError("INVALID_REQUEST", "the row has no finite execute time");
}
