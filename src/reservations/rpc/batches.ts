/** The handlers of the ReservationService that change many reservations in one call. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Logger } from "pino";
import {
  type BatchCreateReservationsRequest,
  type CancelReservationsRequest,
  CancelReservationsRequestSchema,
  type NewReservation,
  type ReservationService,
} from "../../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { callOf } from "../../platform/edge/context.ts";
import { toAnnotations } from "../../platform/messages/annotations.ts";
import { invalid } from "../../platform/messages/invalid-request.ts";
import { requestedPage } from "../../platform/messages/page-tokens.ts";
import { toInstant, toSafeInteger } from "../../platform/messages/scalars.ts";
import { describeError } from "../../platform/ports/described-errors.ts";
import { activeTraceparent } from "../../platform/ports/tracing.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { Deps } from "../ports/deps.ts";
import { cancelReservations } from "../use-cases/cancel-reservations.ts";
import { batchCreateReservations } from "../use-cases/commands.ts";
import { fromReservation, toExecuteTime, toExpiry } from "./messages.ts";

type Batches = "batchCreateReservations" | "cancelReservations";

/** An answer names at most this many reservations, and as many errors. */
const maxNamed = 100;

export function reservationBatches(
  deps: Deps,
  log: Logger,
): Pick<ServiceImpl<typeof ReservationService>, Batches> {
  return {
    async batchCreateReservations(request, context) {
      const batch = toBatch(request, context);
      const results = await batchCreateReservations(deps, batch, logFailed(log, batch.programId));
      return {
        results: results.map((result) => {
          if ("error" in result) return { outcome: { case: "error", value: result.error } };
          const { replayed, ...visible } = result.done;
          const value = { reservation: fromReservation(visible), replayed };
          return { outcome: { case: "created", value } };
        }),
      };
    },

    async cancelReservations(request, context) {
      const { page, next } = requestedPage(CancelReservationsRequestSchema, request);
      const programId = toProgramId(request.programId);
      const found = await cancelReservations(
        deps,
        {
          programId,
          filter: toCancelFilter(request.filter),
          ...callOf(context, request),
          reason: request.reason,
          cursor: page.cursor,
        },
        logFailed(log, programId),
      );
      const { cancelled, skipped, errors } = found;
      return {
        cancelledCount: cancelled.length,
        cancelledPoints: BigInt(cancelled.reduce((sum, { points }) => sum + points, 0)),
        reservationIds: cancelled.slice(0, maxNamed).map(({ reservationId }) => reservationId),
        skippedCount: skipped,
        errorCount: errors.length,
        errors: errors.slice(0, maxNamed),
        nextPageToken: next(found),
      };
    },
  };
}

const logFailed = (log: Logger, programId: string) => (reservationId: string, err: unknown) =>
  log.error(
    { programId, reservationId, err: describeError(err) },
    "a reservation of a batch failed",
  );

function toCancelFilter({ case: field, value }: CancelReservationsRequest["filter"]) {
  switch (field) {
    case "userId":
      return { userId: value };
    case "reasonFilter": {
      const { reasonPrefix, executeTimeFrom, executeTimeBefore } = value;
      // The schema requires both times, so they are set.
      return {
        reasonPrefix,
        start: toInstant(executeTimeFrom as Timestamp, "reason_filter.execute_time_from"),
        end: toInstant(executeTimeBefore as Timestamp, "reason_filter.execute_time_before"),
      };
    }
    case undefined:
      throw invalid("filter", "one of user_id, reason_filter is required");
  }
}

const toBatch = (request: BatchCreateReservationsRequest, context: HandlerContext) => ({
  programId: toProgramId(request.programId),
  reservations: request.reservations.map(toNewReservation),
  allowPastExecuteTime: request.allowPastExecuteTime,
  ...callOf(context, request),
  traceparent: activeTraceparent(),
});

const toNewReservation = (item: NewReservation, i: number) => ({
  reservationId: item.reservationId,
  userId: item.userId,
  points: toSafeInteger(item.points, `reservations[${i}].points`),
  ...toAnnotations(item),
  executeTime: toExecuteTime(item, `reservations[${i}].execute_time`),
  expiry: toExpiry(item),
});
