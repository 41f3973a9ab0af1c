/** The handlers of the ReservationService. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Deps } from "../../app/ports/deps.ts";
import {
  cancelReservation,
  createReservation,
  rescheduleReservation,
  retryReservation,
} from "../../app/reservations/commands.ts";
import { getReservation, listReservations } from "../../app/reservations/queries.ts";
import type { ReservationName, VisibleReservation } from "../../app/reservations/visible.ts";
import type { VisibleState } from "../../domain/reservation.ts";
import {
  type ReservationSchema,
  Reservation_State as State,
} from "../../gen/meguri/reservations/v1/reservation_pb.ts";
import {
  type ListReservationsRequest,
  ListReservationsRequestSchema,
  type ReservationService,
} from "../../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { callerOf, deadlineOf } from "../server/context.ts";
import { invalid } from "../server/errors.ts";
import { requestedPage } from "../server/page-tokens.ts";
import {
  fromInstant,
  toInstant,
  toOptionalInstant,
  toProgramId,
  toSafeInteger,
} from "../server/scalars.ts";

export function reservationService(deps: Deps): ServiceImpl<typeof ReservationService> {
  return {
    async createReservation(request, context) {
      const { replayed, ...visible } = await createReservation(deps, {
        ...toName(request, context),
        userId: request.userId,
        points: toSafeInteger(request.points, "points"),
        reason: request.reason,
        executeTime: toExecuteTime(request),
        caller: callerOf(context),
      });
      return { reservation: fromReservation(visible), replayed };
    },

    getReservation: async (request, context) =>
      toResponse(await getReservation(deps, toName(request, context))),

    async listReservations(request) {
      const { page, next } = requestedPage(ListReservationsRequestSchema, request);
      const window = {
        start: toOptionalInstant(request.startTime, "start_time"),
        end: toOptionalInstant(request.endTime, "end_time"),
      };
      const programId = toProgramId(request.programId);
      const found = await listReservations(deps, programId, toFilter(request.filter), window, page);
      return { reservations: found.items.map(fromReservation), nextPageToken: next(found) };
    },

    cancelReservation: async (request, context) =>
      toResponse(await cancelReservation(deps, toName(request, context))),

    async rescheduleReservation(request, context) {
      const name = toName(request, context);
      const executeTime = toExecuteTime(request);
      return toResponse(await rescheduleReservation(deps, { ...name, executeTime }));
    },

    retryReservation: async (request, context) =>
      toResponse(await retryReservation(deps, toName(request, context))),
  };
}

const states: Readonly<Record<VisibleState, State>> = {
  PENDING: State.PENDING,
  PROCESSING: State.PROCESSING,
  DONE: State.DONE,
  FAILED: State.FAILED,
  CANCELLED: State.CANCELLED,
};

const toName = (
  request: { readonly programId: string; readonly reservationId: string },
  context: HandlerContext,
): ReservationName => ({
  programId: toProgramId(request.programId),
  reservationId: request.reservationId,
  deadline: deadlineOf(context),
});

/** The execute time of a request. The schema requires the field, so it is set. */
const toExecuteTime = (request: { readonly executeTime?: Timestamp | undefined }) =>
  toInstant(request.executeTime as Timestamp, "execute_time");

function toFilter({ case: field, value }: ListReservationsRequest["filter"]) {
  if (field === "userId") return { userId: value };
  const state = (Object.keys(states) as VisibleState[]).find((name) => states[name] === value);
  if (state === undefined) throw invalid("state", "value must be one of the defined enum values");
  return { state };
}

const toResponse = (visible: VisibleReservation) => ({ reservation: fromReservation(visible) });

function fromReservation({
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
    caller: row.caller,
    ...(executed && {
      executedTime: fromInstant(executed.time),
      latenessMs: BigInt(Math.max(0, executed.time - row.executeTime)),
      entryNumber: BigInt(executed.entryNumber),
    }),
    ...(failure && { failure: { ...failure } }),
  };
}
