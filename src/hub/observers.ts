/** What a worker observes of the work of its activities. */

import type { BlockOutcome } from "../bulk-grants/ports/bulk-grants.ts";
import type { Milliseconds } from "../platform/words/units.ts";
import type { ReservationName } from "../reservations/ports/reservations.ts";
import type { LatenessCause, Reservation } from "../reservations/rules/reservation.ts";

/** Called with the cause of its lateness, if the reservation was granted just now. */
export type OnDone = (reservation: Reservation, cause: LatenessCause | undefined) => void;

/** The active bulk grants of all programs. */
export interface BulkGrantCensus {
  /** By state, or PAUSED; each of these is there. */
  readonly byState: ReadonlyMap<string, number>;
  /** How long ago the oldest one that awaits approval was submitted; 0 when none does. */
  readonly oldestWaitingMs: Milliseconds;
}

/** How far the month ends of all programs are, by program. */
export interface MonthEndCensus {
  /** How many months have ended without a whole month end. */
  readonly behind: ReadonlyMap<string, number>;
  /** How many accounts have failed in the last one. */
  readonly failedAccounts: ReadonlyMap<string, number>;
}

/** What a sweep over overdue reservations and holds has found. */
export interface OverdueFound {
  /** The number of those that were executed. */
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

export interface Observers {
  /** Called for every attempt that finds a reservation granted, by itself or by an earlier one. */
  readonly onDone: OnDone;
  readonly pastDue: PastDueGrants;
  /** Called at the end of a pass of the reconciler. */
  readonly onPass: () => void;
  /** Called with the paused reservations by program; undefined when they could not be counted. */
  readonly onPaused: (counts: ReadonlyMap<string, number> | undefined) => void;
  /** Called with the month ends of a pass; undefined when they could not be read. */
  readonly onMonthEnds: (census: MonthEndCensus | undefined) => void;
  /** Called with the active bulk grants of a pass; undefined when they could not be read. */
  readonly onBulkGrants: (census: BulkGrantCensus | undefined) => void;
  /** Called with what a run has done with a block of a bulk grant. */
  readonly onBlock: (outcome: BlockOutcome) => void;
}
