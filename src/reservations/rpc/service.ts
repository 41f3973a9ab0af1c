/** The handlers of the ReservationService that create, read and change single reservations. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Logger } from "pino";
import {
  type ListReservationsRequest,
  ListReservationsRequestSchema,
  type ReservationService,
} from "../../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { toAnnotations } from "../../platform/messages/annotations.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { toOptionalInstant, toSafeInteger } from "../../platform/messages/scalars.ts";
import { activeTraceparent } from "../../platform/ports/tracing.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../ports/deps.ts";
import {
  cancelReservation,
  changeReservationPoints,
  createReservation,
  rescheduleReservation,
  retryReservation,
} from "../use-cases/commands.ts";
import { getReservation, type ListedState, listReservations } from "../use-cases/queries.ts";
import type { VisibleReservation } from "../use-cases/visible-reservation.ts";
import { reservationBatches } from "./batches.ts";
import { fromReservation, toExecuteTime, toExpiry, toName, toState } from "./messages.ts";
import { programPauses } from "./program-pauses.ts";

/** The handlers of all methods. */
export function reservationService(
  deps: Deps,
  log: Logger,
): ServiceImpl<typeof ReservationService> {
  return {
    ...reservationBatches(deps, log),
    ...programPauses(deps),

    async createReservation(request, context) {
      const { replayed, ...visible } = await createReservation(deps, {
        ...toName(request, context),
        userId: request.userId,
        points: toSafeInteger(request.points, "points"),
        ...toAnnotations(request),
        executeTime: toExecuteTime(request),
        allowPastExecuteTime: request.allowPastExecuteTime,
        expiry: toExpiry(request),
        traceparent: activeTraceparent(),
      });
      return { reservation: fromReservation(visible), replayed };
    },

    getReservation: async (request, context) =>
      toResponse(await getReservation(deps, toName(request, context))),

    async listReservations(request) {
      const { page, next } = requestedPage(ListReservationsRequestSchema, request);
      const filter = {
        reasonPrefix: request.reasonPrefix,
        start: toOptionalInstant(request.executeTimeFrom, "execute_time_from"),
        end: toOptionalInstant(request.executeTimeBefore, "execute_time_before"),
      };
      const programId = toProgramId(request.programId);
      const found = await listReservations(deps, programId, toUserOrState(request), filter, page);
      return { reservations: found.items.map(fromReservation), nextPageToken: next(found) };
    },

    cancelReservation: async (request, context) =>
      toResponse(await cancelReservation(deps, toNameAndChange(request, context))),

    async rescheduleReservation(request, context) {
      const nameAndChange = toNameAndChange(request, context);
      const executeTime = toExecuteTime(request);
      const { allowPastExecuteTime } = request;
      const input = { ...nameAndChange, executeTime, allowPastExecuteTime };
      return toResponse(await rescheduleReservation(deps, input));
    },

    async changeReservationPoints(request, context) {
      const nameAndChange = toNameAndChange(request, context);
      const points = toSafeInteger(request.points, "points");
      return toResponse(await changeReservationPoints(deps, { ...nameAndChange, points }));
    },

    retryReservation: async (request, context) =>
      toResponse(await retryReservation(deps, toNameAndChange(request, context))),
  };
}

const toNameAndChange = (
  request: Parameters<typeof toName>[0] & { readonly reason: string },
  context: HandlerContext,
) => ({ ...toName(request, context), reason: request.reason });

/** What is listed. The rules of the message let no state pass in which a reservation has ended. */
const toUserOrState = ({ filter: { case: field, value } }: ListReservationsRequest) =>
  field === "userId" ? { userId: value } : { state: toState(value) as ListedState };

const toResponse = (visible: VisibleReservation) => ({ reservation: fromReservation(visible) });
