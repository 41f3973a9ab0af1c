/** Sheets from sources: the submission of one sheet, and the pick-up of new files. */
import type { BulkGrantInput, BulkGrantRunInput } from "./bulk-grants.ts";

/** The id of the schedule that picks up the new files of a source. */
export const pickUpId = (sourceName: string): string => `pick-up/${sourceName}`;

/**
 * Starts a bulk grant from a source, by Temporal's client, its CLI or a schedule. `{date}` in
 * `bulk_grant_id` and `source` stands for the day of the start, such as 2026-12-01, in the time
 * zone of the program: for a schedule, the day for which it was scheduled.
 */
export interface BulkGrantFromSourceInput extends BulkGrantInput {
  /** The name of a configured source, `/`, and the path of the file in it. */
  readonly source: string;
  /** RFC 3339 with a zone. Absent: as soon as it is approved. */
  readonly execute_time?: string;
  /** Set by continue-as-new: what was submitted. */
  readonly submitted?: SubmittedFromSource;
}

/** What a run has submitted from a source. */
export interface SubmittedFromSource extends BulkGrantRunInput {
  /** Whether the run has the workflow id of the bulk grant, and so follows it itself. */
  readonly is_own: boolean;
}

/** The input of the activity that submits a sheet from a source. */
export interface SubmitFromSourceInput extends BulkGrantInput {
  readonly source: string;
  readonly execute_time?: string;
  /** RFC 3339: the instant whose day `{date}` stands for. */
  readonly start_time: string;
}

/** The input of the activity that submits a new file. */
export interface PickUpSheetInput extends BulkGrantInput {
  readonly source: string;
  /** RFC 3339: the start of the pick-up. */
  readonly start_time: string;
}

/** Starts a pick-up of new files. */
export interface PickUpInput {
  readonly source_name: string;
  readonly program_id: string;
  /** Set by continue-as-new: the files so far. */
  readonly so_far?: PickUpResult;
}

/** The failure type of a pick-up that leaves files in its source. */
export const pickUpIncomplete = "PICK_UP_INCOMPLETE";

/** Requests a page of the new files of a source. */
export interface NewFilesInput {
  readonly source_name: string;
  /** Of the page before; absent for the first page. */
  readonly cursor?: string;
}

/** A page of new files, at most 100. The last page has no cursor. */
export interface NewFiles {
  readonly files: readonly PickUpFile[];
  readonly cursor?: string;
}

/** A new file of a source, and the bulk grant of its name. */
export interface PickUpFile {
  readonly source: string;
  readonly bulk_grant_id: string;
}

/** Moves a file to `done/` or `failed/`. */
export interface MoveFileInput {
  readonly source: string;
  readonly to: "done" | "failed";
}

/** The files of a pick-up, by what became of them. */
export interface PickUpResult {
  /** They are submitted, and their rows are right. */
  readonly submitted: readonly string[];
  /** They are invalid or refused. */
  readonly failed: readonly FileWithReason[];
  /** They are still in the source, whether submitted or not: the next pick-up takes them again. */
  readonly left: readonly FileWithReason[];
}

/** A file, and a reason of `src/domain/errors.ts`, a state of a bulk grant, or NOT_MOVED. */
interface FileWithReason {
  readonly source: string;
  readonly reason: string;
  /** What a person has to know. */
  readonly message?: string;
}
