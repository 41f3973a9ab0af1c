/** Maps reservations and the fields that their requests share between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import type { ReservationName, VisibleReservation } from "../../app/reservations/visible.ts";
import { type Change, latenessOf, type VisibleState } from "../../domain/reservation.ts";
import {
  type ReservationSchema,
  Reservation_State as State,
} from "../../gen/meguri/reservations/v1/reservation_pb.ts";
import { callerOf, deadlineOf } from "../server/context.ts";
import { invalid } from "../server/errors.ts";
import { fromInstant, toInstant, toProgramId } from "../server/scalars.ts";

const states: Readonly<Record<VisibleState, State>> = {
  PENDING: State.PENDING,
  PROCESSING: State.PROCESSING,
  DONE: State.DONE,
  FAILED: State.FAILED,
  CANCELLED: State.CANCELLED,
};

/** The state that a request names. The schema refuses unknown ones. */
export function toState(value: State | undefined): VisibleState {
  const state = (Object.keys(states) as VisibleState[]).find((name) => states[name] === value);
  if (state === undefined) throw invalid("state", "is not a state of reservations");
  return state;
}

/** The reservation that a request names, with the deadline of its call. */
export const toName = (
  request: { readonly programId: string; readonly reservationId: string },
  context: HandlerContext,
): ReservationName => ({
  programId: toProgramId(request.programId),
  reservationId: request.reservationId,
  deadline: deadlineOf(context),
});

/** Who changes reservations by a request, and why. */
export const toChange = (
  request: { readonly changeReason: string },
  context: HandlerContext,
): Change => ({ changedBy: callerOf(context), changeReason: request.changeReason });

/** The execute time of a request. The schema requires the field, so it is set. */
export const toExecuteTime = (
  request: { readonly executeTime?: Timestamp | undefined },
  field = "execute_time",
) => toInstant(request.executeTime as Timestamp, field);

/** The message of a reservation as its reader gets it. */
export function fromReservation({
  row,
  state,
}: VisibleReservation): MessageInitShape<typeof ReservationSchema> {
  const { executed, failure } = row;
  return {
    programId: row.programId,
    reservationId: row.reservationId,
    userId: row.userId,
    points: BigInt(row.points),
    reason: row.reason,
    executeTime: fromInstant(row.executeTime),
    state: states[state],
    createTime: fromInstant(row.createTime),
    updateTime: fromInstant(row.updateTime),
    caller: row.caller.service,
    callerSubject: row.caller.subject,
    changedBy: row.changedBy.service,
    changedBySubject: row.changedBy.subject,
    changeReason: row.changeReason ?? "",
    ...(executed && {
      executedTime: fromInstant(executed.time),
      latenessMs: BigInt(latenessOf(row)),
      entryNumber: BigInt(executed.entryNumber),
    }),
    ...(failure && { failure: { ...failure } }),
  };
}
