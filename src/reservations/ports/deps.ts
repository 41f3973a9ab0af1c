/** The dependencies of reservations: the ports that the composition root fills. */

import type { RecordName, ReservationName } from "../../due/ports/due.ts";
import type * as feed from "../../feed/ports/deps.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Reservation } from "../rules/reservation.ts";
import type { ReservationReader } from "./reservations.ts";

export interface Reader extends feed.Reader, ReservationReader {}

export interface Workflows extends feed.Workflows {
  /**
   * Starts a reservation's run, which begins shortly before its time, unless one is running.
   * `timeZone` is for its summary.
   */
  startReservation(reservation: Reservation, timeZone: string, now: Instant): Promise<void>;
  /** Signals a reservation's run to read its record again. Starts one if none is running. */
  refreshReservation(reservation: Reservation, timeZone: string): Promise<void>;
  /** Requests the cancellation of a reservation's run, if one is running. */
  cancelReservationRun(name: ReservationName): Promise<void>;
  /**
   * Signals the runs that wait because their program is paused. Operators see `reason`, a sentence,
   * in Temporal's list of batch operations.
   */
  refreshPaused(programId: string, reason: string): Promise<void>;
  /** Counts the runs of reservations that wait because their program is paused. */
  countPaused(programId: string): Promise<number>;
  /**
   * Lists the runs of reservations and holds that ended since `since` otherwise than by completing.
   */
  brokenRuns(since: Instant): AsyncIterable<RecordRun>;
  /**
   * Lists the running runs of reservations and holds that were due before `before`, paused ones
   * excepted.
   */
  overdueRuns(before: Instant): AsyncIterable<RecordRun>;
  /** Terminates a run, if it is running. `reason` is what operators read. */
  terminateRun(run: RecordRun, reason: string): Promise<void>;
}

/** One run of the workflow that follows the record of a reservation or a hold. */
export type RecordRun = RecordName & { readonly runId: string; readonly startTime: Instant };

export interface Deps extends feed.Deps {
  readonly reader: Reader;
  readonly workflows: Workflows;
}
