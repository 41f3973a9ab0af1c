/** The client side of Temporal as the use cases see it. */

import type { PickUpSource } from "../bulk-grants/ports/bulk-grants.ts";
import type { BulkGrant } from "../bulk-grants/rules/bulk-grant.ts";
import type { TargetName } from "../feed/rules/target.ts";
import type { Hold } from "../holds/rules/hold.ts";
import type { Instant } from "../platform/words/month.ts";
import type { ExportCall, ExportName, LedgerExport } from "../points/ports/exports.ts";
import type { LiabilityReport } from "../points/rules/liability.ts";
import type { Program } from "../points/rules/program.ts";
import type { Difference } from "../points/rules/rebuild.ts";
import type { RecordName, ReservationName } from "../reservations/ports/reservations.ts";
import type { Reservation } from "../reservations/rules/reservation.ts";

/** Starts and signals workflows. Throws WORKFLOWS_UNAVAILABLE when Temporal does not answer. */
export interface Workflows {
  /** Whether Temporal did not answer the last call. */
  isAway(): boolean;
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
   * Starts a hold's run, which begins at the end of the hold, unless one is running, or has
   * completed of a hold that has ended. `timeZone` is for its summary.
   */
  startHold(hold: Hold, timeZone: string, now: Instant): Promise<void>;
  /** Signals a hold's run to read its record again. Starts one if there was none. */
  refreshHold(hold: Hold, timeZone: string): Promise<void>;
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
  /** Creates the monthly schedule of a program, or updates it if it differs. */
  ensureMonthEnd(program: Program): Promise<void>;
  /**
   * Creates the monthly schedule that notifies the members of a program of points that expire soon,
   * or updates it if it differs. Does nothing for a program without such notices: the run of a
   * schedule that exists notifies nobody.
   */
  ensureExpiryNotices(program: Program): Promise<void>;
  /** Starts the verification of a program, with or without repair, unless one is running. */
  startVerification(programId: string, repair: boolean): Promise<void>;
  /** The latest verification of a program, if there was any. */
  verification(programId: string): Promise<Verification | undefined>;
  /** Starts the run that adds up a liability report unless it is running. */
  startLiabilityReport(report: LiabilityReport): Promise<void>;
  /** Starts an export unless one with its id is running or complete. */
  startExport(call: ExportCall): Promise<void>;
  /** The latest run of an export, if there was any. */
  ledgerExport(name: ExportName): Promise<LedgerExport | undefined>;
  /** Whether the latest run of a workflow runs, without the lag of lists. */
  isRunning(workflowId: string): Promise<boolean>;
  /** Starts the purge of a deleted target unless one is running. */
  startPurge(target: TargetName, ownerId: string): Promise<void>;
  /** Starts the run of a bulk grant unless one is running. */
  startBulkGrant(bulkGrant: BulkGrant): Promise<void>;
  /** Signals the run of a bulk grant to read its record again; starts one if none is running. */
  refreshBulkGrant(bulkGrant: BulkGrant): Promise<void>;
  /** Creates the schedules that pick up the new files of sources, or updates those that differ. */
  ensurePickUp(source: PickUpSource): Promise<void>;
}

/** One run of the workflow that follows the record of a reservation or a hold. */
export type RecordRun = RecordName & { readonly runId: string; readonly startTime: Instant };

/** How far the verification of a program has come, and what it found. */
export interface Verification extends VerifiedAccounts {
  readonly workflowId: string;
  readonly startTime: Instant;
  readonly state: "RUNNING" | "DONE" | "FAILED";
  /** Whether the run repairs the accounts that differ. */
  readonly repair: boolean;
}

/** The accounts that were compared with their ledgers. */
export interface VerifiedAccounts {
  readonly accounts: number;
  /** The number of ledger entries that were read. */
  readonly entries: number;
  /** The number of accounts that differed from their ledgers before any repair. */
  readonly wrong: number;
  /** The number of accounts that were repaired. */
  readonly repaired: number;
  /** The first 100 accounts that differed. */
  readonly reports: readonly WrongAccount[];
  /** The number of accounts that could not be verified, or not be repaired. */
  readonly failed: number;
  /** The first 100 accounts that could not be verified or repaired, each with its reason. */
  readonly failures: readonly { readonly userId: string; readonly reason: string }[];
}

/** An account that differs from its ledger. */
interface WrongAccount {
  readonly userId: string;
  /** The first 20. */
  readonly differences: readonly Difference[];
  /** The number of further differences. */
  readonly unreported: number;
}
