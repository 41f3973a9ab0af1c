/** Sheets from sources: the submission of one sheet, and the pick-up of new files. */
import type { BulkGrantInput, BulkGrantRunInput } from "./bulk-grants.ts";

/** The id of the schedule that picks up the new files of a source. */
export const pickUpId = (sourceName: string): string => `pick-up/${sourceName}`;

/**
 * Starts a bulk grant from a source, by Temporal's client, its CLI or a schedule. `{date}` in
 * `bulk_grant_id`, `source`, `title` and `cause` stands for the day of the start, such as
 * 2026-12-01, in the time zone of the program: for a schedule, the day for which it was scheduled.
 */
export interface BulkGrantFromSourceInput extends BulkGrantInput {
  /** The name of a configured source, `/`, and the path of the file in it. */
  readonly source: string;
  /** The name for people: at most 96 bytes. */
  readonly title?: string | undefined;
  /** The cause, for the ledger entry of every row: at most 128 bytes. */
  readonly cause?: string | undefined;
  /** Who starts the run: at most 64 bytes. Not verified. Absent: the schedule or the client. */
  readonly subject?: string | undefined;
  /** RFC 3339 with a zone. Absent: as soon as it is approved. */
  readonly execute_time?: string | undefined;
  /** Such as 2026-11: at whose end the points expire of rows without a month of their own. */
  readonly expire_month?: string | undefined;
  /** Set by continue-as-new: what was submitted. */
  readonly submitted?: SubmittedFromSource | undefined;
}

/** The bulk grant that a run has submitted from a source. */
export interface SubmittedFromSource extends BulkGrantRunInput {
  /** Whether the run has the workflow id of the bulk grant, and so follows it itself. */
  readonly is_own: boolean;
}

/** The input of the activity that submits a sheet from a source. */
export interface SubmitFromSourceInput extends BulkGrantInput {
  readonly source: string;
  readonly title?: string | undefined;
  readonly cause?: string | undefined;
  readonly subject?: string | undefined;
  readonly execute_time?: string | undefined;
  readonly expire_month?: string | undefined;
  /** RFC 3339: the instant whose day `{date}` stands for. */
  readonly start_time: string;
}

/** The input of the activity that submits a new file. */
export interface PickUpSheetInput extends BulkGrantInput {
  readonly source: string;
  readonly title: string;
  /** RFC 3339: the start of the pick-up. */
  readonly start_time: string;
}

/** The revision that a pick-up has submitted: it has the content of the file. */
export interface PickedUpSheet extends BulkGrantInput {
  readonly revision: number;
}

/** The result of the submission of a new file. */
export interface PickedUpFile {
  /** Absent when the file is not there any more. */
  readonly sheet?: PickedUpSheet | undefined;
}

/** Starts a pick-up of new files. */
export interface PickUpInput {
  readonly source_name: string;
  readonly program_id: string;
  /** Set by continue-as-new: the files so far. */
  readonly so_far?: PickUpResult | undefined;
  /** Set by continue-as-new: files that an earlier pick-up has left and reported. */
  readonly known?: readonly string[] | undefined;
}

/** The detail of the failure of a pick-up: what the next one need not report again. */
export interface PickUpFailure {
  /** Files that are left, and that were reported. */
  readonly known: readonly string[];
}

/** The failure type of a pick-up that leaves files in its source. */
export const pickUpIncomplete = "PICK_UP_INCOMPLETE";

/** Requests a page of the new files of a source. */
export interface NewFilesInput {
  readonly source_name: string;
  /** Of the page before; absent for the first page. */
  readonly cursor?: string | undefined;
}

/** A page of new files, at most 100. The last page has no cursor. */
export interface NewFiles {
  readonly files: readonly PickUpFile[];
  readonly cursor?: string | undefined;
}

/** A new file of a source, the bulk grant of its name, and its title. */
export interface PickUpFile {
  readonly source: string;
  readonly bulk_grant_id: string;
  readonly title: string;
}

/** Moves a file to `done/` or `failed/`. */
export interface MoveFileInput {
  readonly program_id: string;
  /** The bulk grant to which it was submitted; absent when it was refused. */
  readonly bulk_grant_id?: string | undefined;
  readonly source: string;
  readonly to: "done" | "failed";
}

/** Writes what is wrong with a file that was refused. */
export interface WriteRefusalInput extends BulkGrantInput {
  readonly source: string;
  readonly reason: string;
  readonly message: string;
}

/** The address or the name of a file that was moved or written. */
export interface FileAddress {
  /** Absent when the file to be moved is not there any more. */
  readonly place?: string | undefined;
}

/** Reports which files of a pick-up were refused or left. */
export interface PickUpReportInput {
  readonly program_id: string;
  /** The first of them. */
  readonly files: readonly FileWithReason[];
  /** The number of further ones. */
  readonly more_count: number;
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

/** A file, and a reason of `words/reasons.ts`, a state of a bulk grant, or NOT_MOVED. */
export interface FileWithReason {
  readonly source: string;
  readonly reason: string;
  /** A message for people. */
  readonly message?: string | undefined;
  /** The address or the name of the sheet with all of its problems. */
  readonly errors_at?: string | undefined;
  /** The address or the name of the file where it is now; absent when it is not moved. */
  readonly moved_to?: string | undefined;
}
