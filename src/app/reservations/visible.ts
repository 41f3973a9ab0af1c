import { DomainError } from "../../domain/errors.ts";
import type { Instant } from "../../domain/month.ts";
import { type Reservation, type VisibleState, visibleState } from "../../domain/reservation.ts";

/** A reservation and the state in which a reader sees it. */
export interface VisibleReservation {
  readonly row: Reservation;
  readonly state: VisibleState;
}

/** Names one reservation, and how long the caller waits. */
export interface ReservationName {
  readonly programId: string;
  readonly reservationId: string;
  readonly deadline?: number | undefined;
}

export const visible = (row: Reservation, now: Instant): VisibleReservation => ({
  row,
  state: visibleState(row, now),
});

export const reservationNotFound = (id: string) =>
  new DomainError("RESERVATION_NOT_FOUND", `there is no reservation ${id}`);
