/** The form in which callers get a reservation. */

import type { ReservationName } from "../../due/ports/due.ts";
import type { CallLimits } from "../../platform/ports/call.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { type Reservation, type VisibleState, visibleState } from "../rules/reservation.ts";

/** A record and the state that a reader gets. */
export interface VisibleReservation {
  readonly reservation: Reservation;
  readonly state: VisibleState;
}

/** A reservation that a call names. */
export interface ReservationCall extends ReservationName, CallLimits {}

/** The reservation as its reader gets it at `now`. */
export const visible = (reservation: Reservation, now: Instant): VisibleReservation => ({
  reservation,
  state: visibleState(reservation, now),
});

/** The refusal RESERVATION_NOT_FOUND. */
export const reservationNotFound = (reservationId: string) =>
  new DomainError("RESERVATION_NOT_FOUND", `there is no reservation ${reservationId}`);
