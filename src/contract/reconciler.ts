/** The reconciler and the full pass after the loss of a namespace: ids, inputs and counts. */
import type { Milliseconds } from "../domain/units.ts";

/** The id of the reconciler's schedule. */
export const reconcileId = "reconcile-reservations";

/** The workflow id of a full pass of the reconciler. */
export const fullReconcileId = "reconcile-reservations/everything";

/** Starts the reconciler. */
export interface ReconcilerInput {
  /** Set by continue-as-new: runs that ended since this time are checked. RFC 3339. */
  readonly since?: string;
}

/** A reservation or a hold that failed in a sweep, with a reason as in `FailedAccount`. */
type FailedRecord = {
  readonly program_id: string;
  readonly reason: string;
} & ({ readonly reservation_id: string } | { readonly hold_id: string });

/** The counts of a sweep over overdue reservations and holds. */
export interface OverdueCounts {
  /** The number of overdue reservations and holds. */
  readonly overdue: number;
  /** How long the oldest one is overdue. */
  readonly oldest_ms: Milliseconds;
  readonly granted: number;
  /** The number of reservations that are FAILED now. */
  readonly refused: number;
  /** The number of holds that were released. Absent when there were none. */
  readonly released?: number;
  /** The number of those that are left to the next pass. */
  readonly failed: number;
  readonly failures: readonly FailedRecord[];
}

/** The counts of a sweep over overdue reservations so far. At its end there is no cursor. */
export interface OverdueProgress extends OverdueCounts {
  readonly cursor?: string;
}

/** A part of a sweep over overdue reservations, up to the cursor `until`. */
export interface OverdueLane {
  readonly cursor: string;
  readonly until: string;
}

/** A step of such a sweep. A worker of the previous version knows only the progress. */
export interface OverdueStep extends OverdueProgress {
  /** Present in a lane. */
  readonly until?: string;
  /**
   * What is left after the step is divided into so many lanes of the program at its cursor, and so
   * many of the programs behind it. Into one way it is divided only inside a long shard.
   */
  readonly ways?: number;
}

/** The progress after a step. */
export interface OverdueStepResult extends OverdueProgress {
  /** What is left, if the step should divide it. */
  readonly lanes?: readonly OverdueLane[];
}

/** The counts of a sweep that starts the run of every pending reservation. */
export interface StartCounts {
  /** The number of runs that were started or found running. */
  readonly started: number;
  readonly failed: number;
  readonly failures: readonly FailedRecord[];
}

/** The counts of a sweep that starts runs so far. At its end there is no cursor. */
export interface StartProgress extends StartCounts {
  readonly cursor?: string;
}

/** A program whose month ends are behind. */
interface MonthEndsBehind {
  readonly program_id: string;
  readonly months: number;
}

/** The counts of a check of the runs of reservations. */
export interface SyncCounts {
  /** The number of changes that were sent to Temporal again. */
  readonly synced: number;
  /** The number of runs that were started again. */
  readonly restarted: number;
  /** The number of runs that made no progress and were terminated. */
  readonly terminated: number;
  readonly failed: number;
  /** At most 20, the worst first. Absent when they could not be read. */
  readonly behind?: readonly MonthEndsBehind[];
  readonly behind_count?: number;
}
