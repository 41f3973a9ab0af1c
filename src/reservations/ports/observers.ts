/** The observers of grants at their times, by which a worker reports metrics. */

import type { ReservationName } from "../../due/ports/due.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { LatenessCause, Reservation } from "../rules/reservation.ts";

/** Called with the cause of its lateness, if the reservation was granted just now. */
export type OnDone = (reservation: Reservation, cause: LatenessCause | undefined) => void;

/** The findings of a sweep over overdue reservations and holds. */
export interface OverdueFound {
  /** The number of records that were executed. */
  readonly overdue: number;
  /** How long the oldest one was overdue when it was found, or fails. */
  readonly oldestMs: Milliseconds;
  /** The number of records and programs that are left alone for some seconds. */
  readonly failed: number;
}

/** The grants that a worker holds, in its memory. */
export interface PastDueGrants {
  /**
   * Called when an attempt begins to hold a grant, with the time since which it is due. Returns
   * what is to be called at the end of the attempt.
   */
  begin(name: ReservationName, dueSince: number): () => void;
  /** Called when no further attempt has to grant the points now. */
  settle(name: ReservationName): void;
  /** Whether an attempt holds a grant that is due by the local clock. */
  holds(name: ReservationName): boolean;
}
