/** The client side of Temporal as the use cases see it. */
import type { VerificationReport } from "../../contract.ts";
import type { Instant } from "../../domain/month.ts";
import type { Program } from "../../domain/program.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { TargetName } from "../../domain/target.ts";

/** Starts and signals workflows. Throws WORKFLOWS_UNAVAILABLE when Temporal does not answer. */
export interface Workflows {
  /** Starts a reservation's run unless one is running. `timeZone` is for its summary. */
  startReservation(row: Reservation, timeZone: string): Promise<void>;
  /** Signals a reservation's run to read its row again; starts a run first when `start` is set. */
  signalRefresh(row: Reservation, start: boolean, timeZone: string): Promise<void>;
  /** Creates the monthly schedule of a program unless it exists. */
  ensureMonthEnd(program: Program): Promise<void>;
  /** Starts the verification of a program unless one is running. */
  startVerification(programId: string): Promise<void>;
  /** The latest verification of a program, if there was any. */
  verification(programId: string): Promise<Verification | undefined>;
  /** Starts the purge of a deleted target unless one is running. */
  startPurge(target: TargetName, ownerId: string): Promise<void>;
}

/** How far the verification of a program has come, and what it found. */
export interface Verification extends VerificationReport {
  readonly workflowId: string;
  readonly startTime: Instant;
  readonly state: "RUNNING" | "DONE" | "FAILED";
}
