/** The reconciler and the full pass after the loss of a namespace: ids, inputs and counts. */
import { endsRunOnly } from "../../platform/contract/how-to-end.ts";

/** The id of the reconciler's schedule. */
export const reconcileId = "reconcile-reservations";

/** The workflow id of a full pass of the reconciler. */
export const fullReconcileId = "reconcile-reservations/everything";

export const fullReconcileHowToEnd = endsRunOnly(
  "`npm run setup` starts it again where its schedule is new",
);

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
