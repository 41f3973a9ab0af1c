/** Turns what an attempt has done into the step that the workflow gets. */

import type { ChangeView } from "../../src/platform/contract/changes.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { formatInstant, type Instant } from "../../src/platform/words/month.ts";
import type { Milliseconds } from "../../src/platform/words/units.ts";
import type { ReservationStep } from "../../src/reservations/contract/reservations.ts";
import {
  latenessOf,
  type Reservation,
  type ReservationChange,
} from "../../src/reservations/rules/reservation.ts";
import type { Execution } from "../../src/reservations/use-cases/execute.ts";

/** The context of a step, beside the outcome of the attempt. */
interface Read {
  readonly timeZone: string;
  /** The run that reads the step. */
  readonly runId: string;
  /** Why a retry of a failed reservation is refused; undefined when it is not. */
  readonly retryRefusal: string | undefined;
}

export function toStep(execution: Execution, read: Read): ReservationStep {
  const { timeZone, runId, retryRefusal } = read;
  const { outcome, reservation } = execution;
  const at = (time: Instant) => formatInstant(time, timeZone);
  const toChange = ({ caller, time, reason }: ReservationChange): ChangeView => ({
    caller,
    time: at(time),
    reason,
  });
  const { executeTime, points, lastChange } = reservation;
  const last_change = lastChange && toChange(lastChange);
  switch (outcome) {
    case "WAIT":
      return {
        step: "WAIT",
        execute_time: at(finite(executeTime)),
        points,
        last_change,
      };
    case "PAUSED":
      return { step: "PAUSED", pause: toChange(execution.pause) };
    case "DONE":
      return {
        step: "DONE",
        execute_time: at(executeTime),
        grant_time: at(reservation.grant?.time ?? reservation.updateTime),
        lateness: formatDuration(latenessOf(reservation)),
        points,
        available_points: execution.availablePoints,
        entry_number: reservation.grant?.entryNumber ?? 0,
        last_change,
      };
    case "CANCELLED":
      return { step: "CANCELLED", last_change: toChange(cancellationOf(reservation)) };
    case "FAILED":
      return {
        step: "FAILED",
        ...failureOf(reservation),
        run_id: runId,
        retry_refusal: retryRefusal,
        last_change,
      };
  }
}

/** Spells a duration as Protobuf JSON does: seconds with no or three decimals. */
const formatDuration = (ms: Milliseconds): string =>
  `${ms % 1_000 === 0 ? ms / 1_000 : (ms / 1_000).toFixed(3)}s`;

/** A cancelled reservation has a last change, its cancellation. */
const cancellationOf = ({ lastChange, creator, updateTime }: Reservation): ReservationChange =>
  lastChange ?? { caller: creator, time: updateTime, reason: "" };

const failureOf = ({ failure }: Reservation) =>
  failure ?? { reason: "INTERNAL", message: "the record has no reason for its failure" };

/** A record that was stored with an execute time that is no number cannot be waited for. */
function finite(executeTime: Instant): Instant {
  if (Number.isFinite(executeTime)) return executeTime;
  throw new DomainError("INVALID_REQUEST", "the record has no finite execute time");
}
