/**
 * The contract with Temporal of bulk grants, as `src/contract.ts`: histories record these names, so
 * they change only by additions.
 */

/** The workflow types of bulk grants. */
export const bulkWorkflowTypes = {
  bulkGrant: "bulkGrant",
  bulkGrantFromSource: "bulkGrantFromSource",
  pickUpSheets: "pickUpSheets",
} as const;

export const bulkGrantWorkflowId = (programId: string, bulkGrantId: string): string =>
  `bulk-grant/${programId}/${bulkGrantId}`;

/** The id of the schedule that picks up the new files of a source. */
export const pickUpId = (sourceName: string): string => `pick-up/${sourceName}`;

/** The task queue of the activities that execute rows, beside the workers' own one. */
export const bulkTaskQueue = (taskQueue: string): string => `${taskQueue}-bulk`;

/** The signal upon which the workflow of a bulk grant reads its record again. */
export const bulkRefreshSignal = "refresh";

/** The query for the progress of a bulk grant. */
export const bulkProgressQuery = "progress";

/** Starts the workflow of a bulk grant that is submitted. */
export interface BulkGrantInput {
  readonly program_id: string;
  readonly bulk_grant_id: string;
}

/** Starts a bulk grant from a source, by Temporal's client, its CLI or a schedule. */
export interface BulkGrantFromSourceInput extends BulkGrantInput {
  /** The name of a configured source, `/`, and the path of the file in it. */
  readonly source: string;
  /** RFC 3339 with a zone. Absent: as soon as it is approved. */
  readonly execute_time?: string;
}

/** What the workflow reads of the record before each step. Times are RFC 3339. */
export interface BulkGrantView extends BulkGrantInput {
  readonly step: string;
  readonly state: string;
  readonly revision: number;
  readonly digest: string;
  readonly run: number;
  readonly block_count: number;
  readonly row_count: number;
  readonly total_points: number;
  readonly submitter: string;
  readonly required_approvals: number;
  readonly approved_by: readonly string[];
  readonly counts: BulkGrantCounts;
  /** What is waited for or was done, in words, for operators. */
  readonly details: string;
  /** How long to wait until the next step; absent when only a refresh ends the wait. */
  readonly wait_ms?: number;
}

/** The counts of a bulk grant, as its result and its query show them. */
export interface BulkGrantCounts {
  readonly granted: number;
  readonly granted_points: number;
  readonly already_granted: number;
  readonly failed: number;
  readonly invalid: number;
  readonly not_run: number;
  readonly failed_by_code: Readonly<Record<string, number>>;
}

/** The result of a bulk grant's run. */
export interface BulkGrantResult extends BulkGrantInput {
  readonly state: string;
  readonly revision: number;
  readonly digest: string;
  readonly counts: BulkGrantCounts;
}

/** Validates or executes a range of blocks: from `from` up to, not including, `to`. */
export interface BlocksInput extends BulkGrantInput {
  readonly revision: number;
  readonly run: number;
  readonly from: number;
  readonly to: number;
}

/** The progress in a range of blocks. */
export interface BlocksResult {
  /** The next block; absent when the range is done. */
  readonly next?: number;
  /** True when the record does not want the range to be worked on any more. */
  readonly stopped?: boolean;
  /** The counts of this activity, for the view only. */
  readonly granted: number;
  readonly granted_points: number;
  readonly failed: number;
}

/** Changes a bulk grant from Temporal. */
export interface BulkChangeInput {
  /** The name of the person, at most 64 bytes. Required, because approvals are by two people. */
  readonly changed_by: string;
  /** At most 128 bytes. */
  readonly note?: string;
}

/** The argument of the `approve` update. */
export interface BulkApproveInput extends BulkChangeInput {
  readonly digest: string;
}

/** Starts a pick-up of new files. */
export interface PickUpInput {
  readonly source_name: string;
  readonly program_id: string;
}

/** The files of a pick-up, by what became of them. */
export interface PickUpResult {
  readonly submitted: readonly string[];
  readonly failed: readonly { readonly source: string; readonly reason: string }[];
}
