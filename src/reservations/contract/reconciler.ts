/** The reconciler and the full pass after the loss of a namespace: ids, inputs and counts. */

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

/** The counts of a sweep that starts the run of every pending reservation. */
export interface StartCounts {
  /** The number of runs that were started or found running. */
  readonly started: number;
  readonly failed: number;
  readonly failures: readonly FailedRecord[];
}

/** The counts of a sweep that starts runs so far. At its end there is no cursor. */
export interface StartProgress extends StartCounts {
  readonly cursor?: string | undefined;
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
  readonly behind?: readonly MonthEndsBehind[] | undefined;
  readonly behind_count?: number | undefined;
}
