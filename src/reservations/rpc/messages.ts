/** Maps reservations and the fields that their requests share between messages and the domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  Reservation_StateSchema,
  ReservationSchema,
  type Reservation_State as State,
} from "../../gen/meguri/reservations/v1/reservation_pb.ts";
import type { NewReservation } from "../../gen/meguri/reservations/v1/reservation_service_pb.ts";
import { callOf } from "../../platform/edge/context.ts";
import { invalid } from "../../platform/messages/invalid-request.ts";
import { fromRecord, toEnumName } from "../../platform/messages/records.ts";
import { toInstant } from "../../platform/messages/scalars.ts";
import type { Call } from "../../platform/ports/call.ts";
import { formatMonth, parseMonth } from "../../platform/words/month.ts";
import { toProgramId } from "../../platform/words/program-ids.ts";
import type { EarlyExpiry } from "../../points/rules/early-expiry.ts";
import { latenessOf, type VisibleState } from "../rules/reservation.ts";
import type { ReservationCall, VisibleReservation } from "../use-cases/visible-reservation.ts";

/** The state that a request names. The schema refuses unknown ones. */
export function toState(value: State | undefined): VisibleState {
  const state = toEnumName<VisibleState>(Reservation_StateSchema, value ?? 0);
  if (state === undefined) throw invalid("state", "is not a state of reservations");
  return state;
}

/** The reservation that a request names, and what its call carries. */
export const toName = (
  request: {
    readonly programId: string;
    readonly reservationId: string;
    readonly validateOnly?: boolean;
  },
  context: HandlerContext,
): ReservationCall & Call => ({
  programId: toProgramId(request.programId),
  reservationId: request.reservationId,
  ...callOf(context, request),
});

/** The execute time of a request. The schema requires the field, so it is set. */
export const toExecuteTime = (
  request: { readonly executeTime?: Timestamp | undefined },
  field = "execute_time",
) => toInstant(request.executeTime as Timestamp, field);

/** When the points of a request expire; undefined for the whole lifetime. */
export function toExpiry({ expiry }: Pick<NewReservation, "expiry">): EarlyExpiry | undefined {
  switch (expiry.case) {
    case "expireMonth":
      return { expireMonth: parseMonth(expiry.value) };
    case "expireAfterMonths":
      return { expireAfterMonths: expiry.value };
    case undefined:
      return undefined;
  }
}

const fromExpiry = ({ expireMonth, expireAfterMonths = 0 }: EarlyExpiry) =>
  expireMonth === undefined
    ? ({ case: "expireAfterMonths", value: expireAfterMonths } as const)
    : ({ case: "expireMonth", value: formatMonth(expireMonth) } as const);

/** The message of a reservation as its reader gets it. */
export function fromReservation({
  reservation,
  state,
}: VisibleReservation): MessageInitShape<typeof ReservationSchema> {
  const { grant, expiry } = reservation;
  return fromRecord(ReservationSchema, {
    ...reservation,
    state,
    expiry: expiry && fromExpiry(expiry),
    grantTime: grant?.time,
    lateness: grant && latenessOf(reservation),
    entryNumber: grant?.entryNumber,
  });
}
