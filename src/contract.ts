import type { Difference } from "./domain/rebuild.ts";

/**
 * What crosses Temporal: workflow ids, and plain-JSON inputs and results of workflows and
 * activities. Everything here is recorded in histories: change it by adding.
 */

/** One reservation's workflow. */
export interface ReservationInput {
  readonly program: string;
  readonly reservation: string;
  readonly user: string;
  /** When it is due, as known at the start, in ms since the epoch. The row may say otherwise. */
  readonly executeTime: number;
}

/**
 * What the grant activity found in the row, or did. `waitMs` is what was left to wait by the clock
 * that decided it, which may differ from Temporal's.
 */
export type ReservationStep =
  | { readonly step: "WAIT"; readonly executeTime: number; readonly waitMs: number }
  | { readonly step: "DONE"; readonly entry: number }
  | { readonly step: "CANCELLED" }
  | { readonly step: "FAILED"; readonly reason: string; readonly message: string };

/** What an operator sends with the `reschedule` update; RFC 3339 with a zone. */
export interface RescheduleInput {
  readonly execute_time: string;
}

/** Names a reservation to the activities behind the updates. */
export interface ReservationKey {
  readonly program: string;
  readonly reservation: string;
}

/** What an update leaves the reservation as. */
export interface ReservationView {
  readonly state: string;
  readonly execute_time: string;
}

/** An account that could not be worked on; the next run tries it again. */
export interface FailedAccount {
  readonly userId: string;
  /** A reason of `src/domain/errors.ts`, or INTERNAL when the worker's log has the error. */
  readonly reason: string;
}

/** Settles the accounts of one shard of a program's expiry index. */
export interface ExpireShardInput {
  readonly program: string;
  readonly shard: number;
  readonly cursor?: string;
}

/** How far a shard has come; no cursor at its end. */
export interface ExpireShardResult {
  /** Accounts in which something expired. */
  readonly settled: number;
  /** Accounts that had nothing to expire. */
  readonly vain: number;
  /** Accounts that could not be settled, such as one behind its ledger; the next run tries. */
  readonly failed: number;
  /** The first 100 of them. Absent when recorded by older workers. */
  readonly failures?: readonly FailedAccount[];
  readonly cursor?: string;
}

export interface MonthEndInput {
  readonly program: string;
  /** Set by continue-as-new: what is left, and what has been done so far. */
  readonly shards?: readonly { readonly shard: number; readonly cursor?: string }[];
  readonly settled?: number;
  readonly vain?: number;
  readonly failed?: number;
  readonly failures?: readonly FailedAccount[];
}

export interface MonthEndResult {
  readonly settled: number;
  readonly vain: number;
  readonly failed: number;
}

/** How a month end fails that has left accounts to the next run: the details of the failure. */
export interface MonthEndFailure extends MonthEndResult {
  /** The first 100 accounts. */
  readonly failures: readonly FailedAccount[];
}

/** Verifies the accounts of one segment of the table. */
export interface VerifySegmentInput {
  readonly program: string;
  readonly segment: number;
  readonly segments: number;
  readonly cursor?: string;
}

/** What a verification has found. */
export interface VerificationReport {
  readonly accounts: number;
  readonly entries: number;
  /** Accounts that differ from their ledgers. */
  readonly wrong: number;
  /** The first 100 of them. */
  readonly reports: readonly AccountReport[];
  /** Accounts that could not be verified. Absent when recorded by older workers. */
  readonly failed?: number;
  /** The first 100 of them. */
  readonly failures?: readonly FailedAccount[];
}

export interface AccountReport {
  readonly user: string;
  /** The first 20. */
  readonly differences: readonly Difference[];
  /** How many more there are. Absent when recorded by older workers. */
  readonly unreported?: number;
}

export interface VerifySegmentResult extends VerificationReport {
  readonly cursor?: string;
}

export interface VerifyProgramInput {
  readonly program: string;
  /** Set by continue-as-new: what is left, and what has been found so far. */
  readonly segments?: readonly { readonly segment: number; readonly cursor?: string }[];
  readonly report?: VerificationReport;
}

/** Which pending reservations a reconciliation looks at. */
export interface ReconcileInput {
  /** Everything that waits, as after a lost namespace, instead of only what is overdue. */
  readonly everything: boolean;
}

export interface ReconcileResult {
  /** Runs started or found running. */
  readonly started: number;
}

/** Names a deleted target to the activities that clear up behind it. */
export interface TargetKey {
  readonly type: string;
  readonly id: string;
}

/** The reactions of one kind to a deleted target. */
export interface PurgeReactionsInput extends TargetKey {
  readonly kind: string;
}

/** The read notifications of a deleted target. */
export interface PurgeHistoryInput extends TargetKey {
  readonly owner: string;
  readonly cursor?: string;
}

/** Where a removal goes on; no cursor at its end. */
export interface PurgeHistoryResult {
  readonly cursor?: string;
}

export interface PurgeTargetInput extends TargetKey {
  readonly owner: string;
  /** Set by continue-as-new: the kinds with reactions left. None: its history is left. */
  readonly kinds?: readonly string[];
  readonly cursor?: string;
}

/** The workflow types, as the client starts them by name. */
export const workflowTypes = {
  reservation: "reservation",
  monthEnd: "monthEnd",
  verifyProgram: "verifyProgram",
  reconcile: "reconcile",
  removeTarget: "removeTarget",
} as const;

/** Makes a reservation's workflow look at its row again. */
export const refreshSignal = "look";

/** What a verification has found so far. */
export const reportQuery = "report";

/** Search attributes by which operators find workflows. */
export const searchAttributes = {
  program: "MeguriProgram",
  user: "MeguriUser",
  executeTime: "MeguriExecuteTime",
  state: "MeguriState",
} as const;

/** Into how many parts the expiry index of a program is cut. */
export const shardCount = 16;

/** How many disjoint parts a verification scans side by side. */
export const verifySegments = 4;

/** How many wrong accounts a report names, and how many that failed. */
export const maxReports = 100;

/** The failure of a month end that has left accounts to the next run. */
export const monthEndIncomplete = "MONTH_END_INCOMPLETE";

export const reservationWorkflowId = (programId: string, reservationId: string): string =>
  `reservation/${programId}/${reservationId}`;
export const verifyWorkflowId = (programId: string): string => `verify-program/${programId}`;
export const monthEndId = (programId: string): string => `month-end/${programId}`;
export const purgeTargetId = ({ type, id }: TargetKey): string => `remove-target/${type}/${id}`;
export const reconcileId = "reconcile-reservations";
export const fullReconcileId = "reconcile-reservations/everything";
