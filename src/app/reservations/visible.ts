/** The form in which callers get a reservation. */
import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import { type Reservation, type VisibleState, visibleState } from "../../domain/reservation.ts";

/** A row and the state that a reader gets. */
export interface VisibleReservation {
  readonly row: Reservation;
  readonly state: VisibleState;
}

/** Names one reservation, with the deadline of the caller. */
export interface ReservationName {
  readonly programId: string;
  readonly reservationId: string;
  readonly deadline?: number | undefined;
}

export const visible = (row: Reservation, now: Instant): VisibleReservation => ({
  row,
  state: visibleState(row, now),
});

/** The refusal RESERVATION_NOT_FOUND. */
export const reservationNotFound = (reservationId: string) =>
  new DomainError("RESERVATION_NOT_FOUND", `there is no reservation ${reservationId}`);
