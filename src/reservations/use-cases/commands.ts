/** The use cases that create and change reservations. */

import type { Call } from "../../platform/ports/call.ts";
import type { Ref } from "../../platform/ports/records.ts";
import { type Annotations, annotationsOf } from "../../platform/words/annotations.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import { requestHash, requireSameRequest } from "../../platform/work/idempotency.ts";
import { type EarlyExpiry, expiryParameters } from "../../points/rules/early-expiry.ts";
import type { Program } from "../../points/rules/program.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import {
  type ChangeRequest,
  cancel,
  changePoints,
  checkExecuteTime,
  checkExpiry,
  checkNotLongPast,
  type Reservation,
  reschedule,
  retry,
} from "../rules/reservation.ts";
import { doEach, type ItemResult, type OnFailed } from "./batches.ts";
import { changeReservation } from "./change-reservation.ts";
import { type ReservationCall, type VisibleReservation, visible } from "./visible-reservation.ts";
import { writeMarked } from "./workflow-runs.ts";

/** A reservation as a caller requests it. */
interface NewReservation extends Annotations {
  readonly reservationId: string;
  readonly userId: string;
  readonly points: Points;
  readonly executeTime: Instant;
  /** Absent for points that last for the whole lifetime. */
  readonly expiry?: EarlyExpiry | undefined;
}

/** A reservation, and whether an earlier call had created it. */
type CreatedReservation = VisibleReservation & { readonly replayed: boolean };

/** The option of requests with an execute time. */
interface PastTimes {
  /** Whether the execute time may be more than a day ago. */
  readonly allowPastExecuteTime?: boolean | undefined;
}

type CommandDeps = Pick<
  Deps,
  "engine" | "reader" | "clock" | "programs" | "dueHours" | "workflows" | "background"
>;

/**
 * Writes the record, then starts its workflow in the background, so that the caller does not wait
 * for Temporal. A mark is written before the record, and deleted after the start: by it the
 * reconciler finds the start that a process has not come to. Refusals: PROGRAM_NOT_FOUND,
 * INVALID_REQUEST as `checkExecuteTime` and `checkNotLongPast`, LIMIT_EXCEEDED as `checkExpiry`,
 * ID_REUSED.
 */
export async function createReservation(
  deps: CommandDeps,
  input: NewReservation &
    PastTimes &
    Call & { readonly programId: string; readonly traceparent?: string | undefined },
): Promise<CreatedReservation> {
  const { programId, reservationId, userId, points, executeTime, expiry, traceparent } = input;
  const { caller, validateOnly } = input;
  const annotations = annotationsOf(input);
  const ref = reservationRef(programId, reservationId);
  const program = await deps.programs.get(programId);
  await checkNew(deps, ref, program, input);
  if (!validateOnly) await deps.dueHours.mark(programId, executeTime, input);
  const content = {
    user: userId,
    points,
    executeTime,
    ...expiryParameters(expiry),
    ...annotations,
  };
  const hash = requestHash("reserve", caller, content);
  const write = () =>
    changeRecord(
      deps,
      { ref, expectAbsent: true, call: input },
      (existing, { wall }): Reservation =>
        existing ?? {
          programId,
          reservationId,
          userId,
          points,
          ...annotations,
          creator: caller,
          hash,
          executeTime,
          expiry,
          state: "PENDING",
          createTime: wall,
          updateTime: wall,
          traceparent,
          reservationShardCount: program.reservationShardCount,
        },
    );
  const { record, isChanged, now } = await (validateOnly
    ? write()
    : writeMarked(deps, input, write));
  requireSameRequest(record.hash, hash, "reservation_id");
  return { ...visible(record, now.wall), replayed: !isChanged };
}

/**
 * Refuses a bad execute time or expiry before anything is written, unless the reservation exists:
 * the clock of another server, a little ahead of this one, may have let the same request pass, or
 * the month of the expiry may be over by now.
 */
async function checkNew(
  { clock, reader }: Pick<Deps, "clock" | "reader">,
  ref: Ref<"reservation">,
  program: Program,
  { executeTime, expiry, allowPastExecuteTime }: NewReservation & PastTimes,
): Promise<void> {
  try {
    const { wall, calendar } = await clock.now();
    checkExecuteTime(executeTime, wall);
    if (!allowPastExecuteTime) checkNotLongPast(executeTime, wall);
    checkExpiry(program, { executeTime, expiry }, calendar);
  } catch (error) {
    if (!(await reader.get(ref))) throw error;
  }
}

/**
 * Creates every reservation of a batch, as `createReservation` does. Refusals of single ones are
 * their results; PROGRAM_NOT_FOUND and PROGRAM_STALE refuse the whole batch.
 */
export async function batchCreateReservations(
  deps: CommandDeps,
  batch: PastTimes &
    Call & {
      readonly programId: string;
      readonly reservations: readonly NewReservation[];
      readonly traceparent: string | undefined;
    },
  onFailed: OnFailed,
): Promise<ItemResult<CreatedReservation>[]> {
  const { reservations, ...shared } = batch;
  await deps.programs.get(shared.programId);
  const create = (item: NewReservation) => createReservation(deps, { ...item, ...shared });
  return doEach(reservations, create, onFailed);
}

/** Cancels a pending or failed reservation. Refusals: RESERVATION_NOT_FOUND, WRONG_STATE. */
export function cancelReservation(
  deps: CommandDeps,
  input: ReservationCall & ChangeRequest,
): Promise<VisibleReservation> {
  return changeReservation(deps, input, (reservation, { wall }) =>
    cancel(reservation, input, wall),
  );
}

/**
 * Moves a pending reservation to another time. Refusals: PROGRAM_NOT_FOUND, RESERVATION_NOT_FOUND,
 * WRONG_STATE, INVALID_REQUEST as `checkExecuteTime` and `checkNotLongPast`, LIMIT_EXCEEDED as
 * `checkExpiry`.
 */
export function rescheduleReservation(
  deps: CommandDeps,
  input: ReservationCall & ChangeRequest & PastTimes & { readonly executeTime: Instant },
): Promise<VisibleReservation> {
  const { executeTime, allowPastExecuteTime } = input;
  return changeGrant(deps, input, (reservation, wall) => {
    const moved = reschedule(reservation, executeTime, input, wall);
    if (moved !== reservation && !allowPastExecuteTime) checkNotLongPast(executeTime, wall);
    return moved;
  });
}

/**
 * Lowers or raises the points of a pending reservation. Refusals: RESERVATION_NOT_FOUND,
 * WRONG_STATE, INVALID_REQUEST as `changePoints`.
 */
export function changeReservationPoints(
  deps: CommandDeps,
  input: ReservationCall & ChangeRequest & { readonly points: Points },
): Promise<VisibleReservation> {
  return changeReservation(deps, input, (reservation, { wall }) =>
    changePoints(reservation, input.points, input, wall),
  );
}

/**
 * Sets a failed reservation to pending and starts a new run. Refusals: PROGRAM_NOT_FOUND,
 * RESERVATION_NOT_FOUND, WRONG_STATE, LIMIT_EXCEEDED as `checkExpiry`: the new run would fail too.
 */
export function retryReservation(
  deps: CommandDeps,
  input: ReservationCall & ChangeRequest,
): Promise<VisibleReservation> {
  return changeGrant(deps, input, (reservation, wall) => retry(reservation, input, wall));
}

/** Changes when the points are granted, unless they could not expire then as they are reserved. */
async function changeGrant(
  deps: CommandDeps,
  call: ReservationCall & ChangeRequest,
  change: (reservation: Reservation, now: Instant) => Reservation,
): Promise<VisibleReservation> {
  await deps.programs.get(call.programId);
  return changeReservation(deps, call, (reservation, { wall, calendar }) => {
    const changed = change(reservation, wall);
    if (changed === reservation) return reservation;
    checkExpiry(deps.programs.current(call.programId), changed, calendar);
    return changed;
  });
}
