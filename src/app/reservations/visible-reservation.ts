/** The form in which callers get a reservation. */
import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import { type Reservation, type VisibleState, visibleState } from "../../domain/reservation.ts";

/** A record and the state that a reader gets. */
export interface VisibleReservation {
  readonly reservation: Reservation;
  readonly state: VisibleState;
}

/** Names one reservation, with the deadline of the caller. */
export interface ReservationName {
  readonly programId: string;
  readonly reservationId: string;
  readonly deadline?: number | undefined;
}

export const visible = (reservation: Reservation, now: Instant): VisibleReservation => ({
  reservation,
  state: visibleState(reservation, now),
});

/** The refusal RESERVATION_NOT_FOUND. */
export const reservationNotFound = (reservationId: string) =>
  new DomainError("RESERVATION_NOT_FOUND", `there is no reservation ${reservationId}`);
