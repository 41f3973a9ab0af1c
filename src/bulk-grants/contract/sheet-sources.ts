/** Sheets from sources: the submission of one sheet, and the pick-up of new files. */
import { endsRunOfSchedule, endsRunOnly } from "../../platform/contract/how-to-end.ts";
import type { BulkGrantRunInput } from "./bulk-grants.ts";
import type {
  BulkGrantInput,
  BulkGrantOfRows,
  BulkGrantOfSource,
  FileWithReason,
} from "./payloads.ts";

/** The id of the schedule that picks up the new files of a source. */
export const pickUpId = (sourceName: string): string => `pick-up/${sourceName}`;

export const pickUpHowToEnd = endsRunOfSchedule(
  "submits no file twice, but may report files a second time",
);

/** Of a run that submits rows, and waits for the end of a bulk grant that has its own run. */
export const waitHowToEnd = endsRunOnly("the bulk grant goes on");

/** Starts a bulk grant from a source. */
export interface BulkGrantFromSourceInput extends BulkGrantOfSource {
  /** Set by continue-as-new: what was submitted. */
  readonly submitted?: SubmittedByRun | undefined;
}

/** Starts a bulk grant with its rows, or goes on with what continue-as-new sets in their place. */
export type BulkGrantRowsInput =
  | (BulkGrantOfRows & { readonly submitted?: undefined })
  | (BulkGrantInput & { readonly submitted: SubmittedByRun });

/** The bulk grant that a run has submitted. */
export interface SubmittedByRun extends BulkGrantRunInput {
  /** Whether the run has the workflow id of the bulk grant, and so follows it itself. */
  readonly is_own: boolean;
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

/** The address or the name of a file that was moved or written. */
export interface FileAddress {
  /** Absent when the file to be moved is not there any more. */
  readonly address?: string | undefined;
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
