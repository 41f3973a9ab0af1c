/** The client side of Temporal as the use cases see it. */

import type { RunName } from "../../contract/reconciler.ts";
import type { VerificationReport } from "../../contract/verifications.ts";
import type { BulkGrant } from "../../domain/bulk-grant.ts";
import type { Instant } from "../../domain/month.ts";
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { TargetName } from "../../domain/target.ts";
import type { PickUpSource } from "./bulk-grants.ts";

/** Starts and signals workflows. Throws WORKFLOWS_UNAVAILABLE when Temporal does not answer. */
export interface Workflows {
  /** Starts a reservation's run unless one is running. `timeZone` is for its summary. */
  startReservation(row: Reservation, timeZone: string): Promise<void>;
  /** Signals a reservation's run to read its row again. Starts a run first if none is running. */
  refreshReservation(row: Reservation, timeZone: string): Promise<void>;
  /** Requests the cancellation of a reservation's run, if one is running. */
  cancelReservationRun(name: RunName): Promise<void>;
  /** Signals the runs that wait because their program is paused. */
  refreshPaused(programId: string): Promise<void>;
  /** Lists the runs of reservations that ended since `since` otherwise than by completing. */
  brokenRuns(since: Instant): AsyncIterable<ReservationRun>;
  /** Lists the running runs of reservations that were due before `before`, paused ones excepted. */
  overdueRuns(before: Instant): AsyncIterable<ReservationRun>;
  /** Terminates a run, if it is running. `reason` is what operators read. */
  terminateRun(run: ReservationRun, reason: string): Promise<void>;
  /** Creates the monthly schedule of a program, or updates it if it differs. */
  ensureMonthEnd(program: Program): Promise<void>;
  /**
   * Creates the monthly schedule that notifies the members of a program of points that expire soon,
   * or updates it if it differs. Does nothing for a program without such notices: the run of a
   * schedule that exists notifies nobody.
   */
  ensureExpiryNotices(program: Program): Promise<void>;
  /** Starts the verification of a program unless one is running. */
  startVerification(programId: string): Promise<void>;
  /** The latest verification of a program, if there was any. */
  verification(programId: string): Promise<Verification | undefined>;
  /** Starts the purge of a deleted target unless one is running. */
  startPurge(target: TargetName, ownerId: string): Promise<void>;
  /** Starts the run of a bulk grant unless one is running. */
  startBulkGrant(bulkGrant: BulkGrant): Promise<void>;
  /** Signals the run of a bulk grant to read its record again; starts one if none is running. */
  refreshBulkGrant(bulkGrant: BulkGrant): Promise<void>;
  /** Creates the schedules that pick up the new files of sources, or updates those that differ. */
  ensurePickUp(source: PickUpSource): Promise<void>;
}

/** One run of a reservation's workflow. */
export interface ReservationRun extends RunName {
  readonly runId: string;
}

/** How far the verification of a program has come, and what it found. */
export interface Verification extends VerificationReport {
  readonly workflowId: string;
  readonly startTime: Instant;
  readonly state: "RUNNING" | "DONE" | "FAILED";
}
