/** The observers of the work that a worker's activities do. */
import type { BlockOutcome } from "../bulk-grants/ports/bulk-grants.ts";
import type { BulkGrantCensus } from "../bulk-grants/ports/observers.ts";
import type { MonthEndCensus, WaitingRules } from "../points/ports/observers.ts";
import type { OnDone, PastDueGrants } from "../reservations/ports/observers.ts";

/** The kinds of work whose failures are counted by their reason. */
type FailedWork = "reservation" | "bulk_grant" | "pick_up" | "notice";

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
  /** Called with the changes of rules that wait for people; undefined when they were not read. */
  readonly onWaitingRules: (waiting: WaitingRules | undefined) => void;
  /** Called once when work has failed for good, or has left something undone for people. */
  readonly onFailed: (kind: FailedWork, reason: string) => void;
  /** Called with the active bulk grants of a pass; undefined when they could not be read. */
  readonly onBulkGrants: (census: BulkGrantCensus | undefined) => void;
  /** Called with what a run has done with a block of a bulk grant. */
  readonly onBlock: (outcome: BlockOutcome) => void;
}
