/**
 * The contract with Temporal: workflow types and ids, and the plain-JSON inputs and results of
 * workflows and activities.
 *
 * Histories record these names, so renaming one would break running workflows. Therefore names of
 * the first versions stay (`program`, `user`, `settled`, `vain`, `look`, `removeTarget`), where the
 * code uses another word. Change this file only by adding.
 */
import type { Difference } from "./domain/rebuild.ts";

/** The workflow types, by which the client starts workflows. */
export const workflowTypes = {
  reservation: "reservation",
  monthEnd: "monthEnd",
  verifyProgram: "verifyProgram",
  reconciler: "reconciler",
  startRuns: "startRuns",
  removeTarget: "removeTarget",
  expiryNotices: "expiryNotices",
} as const;

export const reservationWorkflowId = (programId: string, reservationId: string): string =>
  `reservation/${programId}/${reservationId}`;
/** Returns the reservation of a workflow id; undefined for the id of another workflow. */
export function reservationOf(
  workflowId: string,
): { programId: string; reservationId: string } | undefined {
  const [, programId, reservationId] = /^reservation\/([^/]+)\/(.+)$/.exec(workflowId) ?? [];
  return programId && reservationId ? { programId, reservationId } : undefined;
}
export const verifyWorkflowId = (programId: string): string => `verify-program/${programId}`;
export const purgeTargetId = ({ type, id }: TargetKey): string => `remove-target/${type}/${id}`;
/** The id of a program's month-end schedule. */
export const monthEndId = (programId: string): string => `month-end/${programId}`;
/** The id of the reconciler's schedule. */
export const reconcileId = "reconcile-reservations";
/** The workflow id of a full pass of the reconciler. */
export const fullReconcileId = "reconcile-reservations/everything";

/** The search attributes by which operators find workflows. */
export const searchAttributes = {
  program: "MeguriProgram",
  user: "MeguriUser",
  executeTime: "MeguriExecuteTime",
  state: "MeguriState",
  points: "MeguriPoints",
  caller: "MeguriCaller",
  /** Why a reservation waits or has failed: a reason of `src/domain/errors.ts`. */
  reason: "MeguriReason",
} as const;

/** The signal upon which the workflow of a reservation reads its row again. */
export const refreshSignal = "look";

/** The query for the report of a verification so far. */
export const reportQuery = "report";

/** The failure type of a month end in which accounts failed. */
export const monthEndIncomplete = "MONTH_END_INCOMPLETE";

/** The number of shards of a program's expiry index. */
export const shardCount = 16;

/** The number of disjoint parts of the table that a verification scans concurrently. */
export const verifySegments = 4;

/** A report names at most this many accounts that differ, and as many that failed. */
export const maxReports = 100;

/** Starts the workflow of one reservation. Operators read it as the input of the run. */
export interface ReservationInput {
  readonly program_id: string;
  readonly reservation_id: string;
  readonly user_id: string;
  readonly points: number;
  /** RFC 3339, in the zone of the program. The row may have another one by now. */
  readonly execute_time_at_start: string;
}

/** The input of runs that started before the grant activity held until the execute time. */
export interface OldReservationInput {
  readonly program: string;
  readonly reservation: string;
  readonly user: string;
  /** In ms since the epoch. */
  readonly executeTime: number;
}

/** The input of the activities that grant a reservation. */
export interface GrantInput extends ReservationInput {
  /** The execute time that the workflow has read last, as RFC 3339. */
  readonly execute_time: string;
  /** How long before the execute time the activity wakes up, in ms. */
  readonly lead_ms: number;
  /** The run id of the run whose history this run continues: another one after a reset. */
  readonly original_run_id: string;
}

/**
 * The step that a grant activity has made or that follows from the row. Times are RFC 3339. After
 * RETRY, a retryable error, the workflow tries again.
 */
export type ReservationStep =
  | {
      readonly step: "WAIT";
      readonly execute_time: string;
      /** Who moved or retried it last, and why. Absent when it was not changed. */
      readonly changed_by?: string;
      readonly reason?: string;
    }
  | { readonly step: "PAUSED"; readonly paused_by: string; readonly reason: string }
  | { readonly step: "RETRY"; readonly reason: string; readonly message: string }
  | ReservationResult
  | { readonly step: "CANCELLED"; readonly changed_by: string; readonly reason: string }
  | {
      readonly step: "FAILED";
      readonly reason: string;
      readonly message: string;
      /** The run that has read this. A run that was reset finds the id of another run here. */
      readonly run_id: string;
    };

/** The result of a run whose points are granted. */
interface ReservationResult {
  readonly step: "DONE";
  readonly points: number;
  /** The points of the account after the grant. */
  readonly balance: number;
  readonly executed_time: string;
  readonly lateness_ms: number;
  readonly entry_number: number;
}

/**
 * The steps of runs with `OldReservationInput`. `waitMs` is the time left by the clock of the
 * activity, which may differ from Temporal's clock.
 */
export type OldReservationStep =
  | { readonly step: "WAIT"; readonly executeTime: number; readonly waitMs: number }
  | { readonly step: "DONE"; readonly entry: number }
  | { readonly step: "CANCELLED" }
  | { readonly step: "FAILED"; readonly reason: string; readonly message: string };

/** Who changes a reservation from Temporal, and why. Both may be left out. */
export interface ChangeInput {
  /** The name of the operator, at most 64 bytes. */
  readonly changed_by?: string;
  /** At most 128 bytes. */
  readonly reason?: string;
}

/** The argument of the `reschedule` update: an RFC 3339 time with a zone. */
export interface RescheduleInput extends ChangeInput {
  readonly execute_time: string;
}

/** Names a reservation to the activities of the updates. */
export interface ReservationKey {
  readonly program: string;
  readonly reservation: string;
}

/** The reservation after an update. */
export interface ReservationView {
  readonly state: string;
  readonly execute_time: string;
}

/** An account that failed in work on many accounts. The next run tries it again. */
export interface FailedAccount {
  readonly userId: string;
  /** A reason of `src/domain/errors.ts`, or INTERNAL when the worker's log contains the error. */
  readonly reason: string;
}

/** Expires what is due in the accounts of one shard of a program's expiry index. */
export interface ExpireShardInput {
  readonly program: string;
  readonly shard: number;
  readonly cursor?: string;
}

/** The progress within a shard. At its end there is no cursor. */
export interface ExpireShardResult {
  /** The number of accounts in which points expired. */
  readonly settled: number;
  /** The number of unchanged accounts. */
  readonly vain: number;
  /** The number of accounts that failed, such as one that is behind its ledger. */
  readonly failed: number;
  /** The first 100 accounts that failed. Absent when recorded by older workers. */
  readonly failures?: readonly FailedAccount[];
  readonly cursor?: string;
}

/** Starts a month-end sweep of a program. */
export interface MonthEndInput {
  readonly program: string;
  /** Set by continue-as-new: the shards that are left, and the counts so far. */
  readonly shards?: readonly { readonly shard: number; readonly cursor?: string }[];
  readonly settled?: number;
  readonly vain?: number;
  readonly failed?: number;
  readonly failures?: readonly FailedAccount[];
  readonly months?: MonthEndMonths;
}

/** The months of a month end, such as `"2026-11"`. */
export interface MonthEndMonths {
  /** The month that has ended. */
  readonly month: string;
  /** The latest month whose granted points have expired with it. */
  readonly grantedUpTo: string;
}

/** The counts of a month-end sweep, as in `ExpireShardResult`. */
export interface MonthEndResult {
  readonly settled: number;
  readonly vain: number;
  readonly failed: number;
  /** Absent when recorded by older workers. */
  readonly months?: MonthEndMonths;
  /** The months, the counts and the first accounts that failed, as a sentence. */
  readonly report?: string;
}

/** The details of the failure of a month end in which accounts failed. */
export interface MonthEndFailure extends MonthEndResult {
  /** The first 100 accounts. */
  readonly failures: readonly FailedAccount[];
}

/** Starts the verification of all accounts of a program. */
export interface VerifyProgramInput {
  readonly program: string;
  /** Set by continue-as-new: the segments that are left, and the report so far. */
  readonly segments?: readonly { readonly segment: number; readonly cursor?: string }[];
  readonly report?: VerificationReport;
}

/** Verifies the accounts of one segment of the table. */
export interface VerifySegmentInput {
  readonly program: string;
  readonly segment: number;
  readonly segments: number;
  readonly cursor?: string;
}

/** The report of a segment so far. At its end there is no cursor. */
export interface VerifySegmentResult extends VerificationReport {
  readonly cursor?: string;
}

/** The report of a verification. */
export interface VerificationReport {
  /** The number of accounts that were verified. */
  readonly accounts: number;
  /** The number of ledger entries that were read. */
  readonly entries: number;
  /** The number of accounts that differ from their ledgers. */
  readonly wrong: number;
  /** The first 100 accounts that differ. */
  readonly reports: readonly AccountReport[];
  /** The number of accounts that could not be verified. Absent when recorded by older workers. */
  readonly failed?: number;
  /** The first 100 accounts that could not be verified. */
  readonly failures?: readonly FailedAccount[];
}

/** Adds up two reports; accounts beyond the first 100 are counted, but not named. */
export const addReports = (
  total: VerificationReport,
  next: VerificationReport,
): VerificationReport => ({
  accounts: total.accounts + next.accounts,
  entries: total.entries + next.entries,
  wrong: total.wrong + next.wrong,
  reports: [...total.reports, ...next.reports].slice(0, maxReports),
  failed: (total.failed ?? 0) + (next.failed ?? 0),
  failures: [...(total.failures ?? []), ...(next.failures ?? [])].slice(0, maxReports),
});

/** The differences of one account. */
export interface AccountReport {
  readonly user: string;
  /** The first 20. */
  readonly differences: readonly Difference[];
  /** The number of further differences. Absent when recorded by older workers. */
  readonly unreported?: number;
}

/** Names a deleted target to the activities that purge it. */
export interface TargetKey {
  readonly type: string;
  readonly id: string;
}

/** Starts the purge of a deleted target. */
export interface PurgeTargetInput extends TargetKey {
  readonly owner: string;
  /** Set by continue-as-new: the kinds with reactions left. */
  readonly kinds?: readonly string[];
  /** Set by continue-as-new of runs that scanned the owner's history. */
  readonly cursor?: string;
}

/** Purges reactions of one kind to a deleted target. */
export interface PurgeReactionsInput extends TargetKey {
  readonly kind: string;
}

/** The input of the last activity of runs that scanned the owner's history. */
export interface PurgeHistoryInput extends TargetKey {
  readonly owner: string;
  readonly cursor?: string;
}

/** The cursor of the next page; absent at the end. */
export interface PurgeHistoryResult {
  readonly cursor?: string;
}
