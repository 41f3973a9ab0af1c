/** The workflow of a bulk grant: its id, queue, signal, query, progress and results. */

import { endsWithRecord } from "../../platform/contract/how-to-end.ts";
import type { Caller } from "../../platform/words/caller.ts";
import type { Milliseconds, Points } from "../../platform/words/units.ts";
import type { BulkGrantInput } from "./payloads.ts";

export const bulkGrantWorkflowId = (programId: string, bulkGrantId: string): string =>
  `bulk-grant/${programId}/${bulkGrantId}`;

export const bulkGrantHowToEnd = endsWithRecord("cancels the bulk grant");

/** The task queue of the activities that execute rows, beside the workers' own one. */
export const bulkTaskQueue = (taskQueue: string): string => `${taskQueue}-bulk`;

/** The number of block ranges that are worked on concurrently. */
const maxRanges = 4;

/** A range has at least this many blocks: each range costs events of the history. */
const minBlocks = 4;

/** The number of ranges of a bulk grant with so many blocks. */
export const rangeCount = (blocks: number): number =>
  Math.min(maxRanges, Math.ceil(blocks / minBlocks));

/** The signal upon which the workflow of a bulk grant reads its record again. */
export const bulkRefreshSignal = "refresh";

/** The query for the progress of a bulk grant. */
export const bulkProgressQuery = "progress";

/** The blocks of a validation or a run that are left, in ranges that are processed concurrently. */
export interface BlocksLeft {
  readonly step: "VALIDATE" | "RUN";
  readonly revision: number;
  readonly run: number;
  readonly ranges: readonly BlockRange[];
}

/** The blocks from `from` up to, not including, `to`. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

/** The input of a run that may continue another one. */
export interface BulkGrantRunInput extends BulkGrantInput {
  /** Set by continue-as-new. */
  readonly left?: BlocksLeft | undefined;
}

/** The view of the record that the workflow reads before each step. Times are RFC 3339. */
export interface BulkGrantView extends BulkGrantInput {
  readonly step: string;
  readonly state: string;
  readonly revision: number;
  readonly digest: string;
  readonly run: number;
  readonly block_count: number;
  readonly row_count: number;
  readonly total_points: Points;
  readonly submitter: Caller;
  /** The names of those who have changed it, for the search attribute. */
  readonly actors: readonly string[];
  readonly source?: string | undefined;
  /** The address or the name of what has the rows that were not granted, once it is written. */
  readonly failed_rows_at?: string | undefined;
  readonly execute_time?: string | undefined;
  readonly counts: BulkGrantCounts;
  /** Of a cancelled run: until when its counts may change. Absent when they are final. */
  readonly counts_final_time?: string | undefined;
  /** What it waits for or how it has ended, and what people can do, as Markdown. */
  readonly details: string;
  /** What was submitted, who has approved it and, while it waits for that, the summary. */
  readonly facts: readonly string[];
  /** What has become of the rows, as lines of Markdown. */
  readonly rows: readonly string[];
  /** The announcement of the wait for approvals that is due. */
  readonly announcement?: string | undefined;
  /** How long to wait until the next step; absent when only a refresh ends the wait. */
  readonly wait_ms?: Milliseconds | undefined;
}

/** The counts of rows of a bulk grant, as its result and its query show them. */
export interface BulkGrantCounts {
  readonly granted_count: number;
  readonly granted_points: Points;
  readonly already_granted_count: number;
  readonly failed_count: number;
  readonly invalid_count: number;
  readonly not_run_count: number;
  /** The failed rows by their code; in INVALID the invalid rows, by each of their codes. */
  readonly problem_counts: Readonly<Record<string, number>>;
}

/** The result of a bulk grant's run. */
export interface BulkGrantResult extends BulkGrantInput {
  readonly state: string;
  readonly revision: number;
  readonly digest: string;
  readonly counts: BulkGrantCounts;
  /** Of a cancelled run: until when its counts may change. Absent when they are final. */
  readonly counts_final_time?: string | undefined;
}

/** The progress in a range of blocks. */
export interface BlocksResult {
  /** The next block; absent when the range is done. */
  readonly next?: number | undefined;
  /** True when the record does not want the range to be worked on any more. */
  readonly stopped?: boolean | undefined;
  /** The counts of the whole run so far; absent after a validation. */
  readonly counts?: BulkGrantCounts | undefined;
  /** What has become of the rows so far, as lines of Markdown; absent after a validation. */
  readonly rows?: readonly string[] | undefined;
}

/** A bulk grant after an update. */
export interface BulkGrantStatus {
  readonly state: string;
  readonly revision: number;
  readonly digest: string;
  readonly approvers: readonly Caller[];
}
