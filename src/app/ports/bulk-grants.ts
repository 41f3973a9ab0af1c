/** Reads of bulk grants, and the store of their rows. */
import type { BulkGrant, BulkGrantName, BulkGrantState } from "../../domain/bulk-grant.ts";
import type { Instant } from "../../domain/month.ts";
import type { RowProblem, SheetRow } from "../../domain/sheet.ts";
import type { Points } from "../../domain/units.ts";
import type { Page, PageRequest, Window } from "./pages.ts";
import type { StreamCall, StreamEnd, Streams } from "./streams.ts";

/** The rows of a sheet before they belong to a bulk grant. A cut-off upload leaves this record. */
export interface PendingUpload {
  readonly uploadId: string;
  readonly startTime: Instant;
  /** Its rows are being deleted, so it can become no revision any more. */
  readonly isDropped?: true;
}

/** What the validation found in one block. Rows have their index in the block. */
export interface BlockCheck {
  readonly revision: number;
  readonly alreadyGranted: readonly number[];
  readonly alreadyGrantedPoints: Points;
  readonly problems: readonly BlockProblem[];
}

/** A row of a block, by its index, and its problem. */
export interface BlockProblem extends RowProblem {
  readonly index: number;
}

/** What a run has done with one block. */
export interface BlockOutcome {
  /** The run that has written it last. */
  readonly run: number;
  readonly grantedCount: number;
  readonly grantedPoints: Points;
  /** The rows that were not granted. */
  readonly failures: readonly BlockProblem[];
}

/** A block by its number, which starts at 0. */
export type Numbered<T> = T & { readonly block: number };

export interface BulkGrantReader {
  /** Lists by create time, newest first; in one state, or in all. Lags behind by moments. */
  bulkGrants(
    filter: { readonly programId: string; readonly state: BulkGrantState | undefined } & Window,
    page: PageRequest,
  ): Promise<Page<BulkGrant>>;
  /** Reads a block of rows; empty when it does not exist. */
  rowsOfBlock(uploadId: string, block: number): Promise<readonly SheetRow[]>;
  /** Lists what the validation found, by block. */
  blockChecks(uploadId: string, page: PageRequest): Promise<Page<Numbered<BlockCheck>>>;
  /** Lists what the runs have done, by block. */
  blockOutcomes(uploadId: string, page: PageRequest): Promise<Page<Numbered<BlockOutcome>>>;
  /** Lists the uploads that have not become a revision, by id. */
  pendingUploads(page: PageRequest): Promise<Page<PendingUpload>>;
}

/** Writes the rows of sheets, without the engine: blocks are written once and never change. */
export interface SheetStore {
  putBlock(uploadId: string, block: number, rows: readonly SheetRow[]): Promise<void>;
  /** Deletes all rows of an upload. May be repeated. */
  deleteRows(uploadId: string): Promise<void>;
}

/** Streams of the progress of bulk grants. */
export interface BulkGrantStreams extends Streams {
  /**
   * Yields the bulk grant at once and after each change, until it is final, the call ends, the time
   * limit of the stream is over, or this process drains. Throws BULK_GRANT_NOT_FOUND.
   */
  watch(name: BulkGrantName, call: StreamCall): AsyncIterable<BulkGrantEvent | StreamEnd>;
}

/** One message of a stream. */
export type BulkGrantEvent =
  | { readonly bulkGrant: BulkGrant; readonly progress: BulkGrantProgress }
  /** The last message, after the final state. */
  | { readonly end: "FINAL" };

/** How far the run of the current revision has come. */
export interface BulkGrantProgress {
  readonly grantedCount: number;
  readonly grantedPoints: Points;
  readonly failedCount: number;
}

/** Sends reports to people. */
export interface Reporter {
  /**
   * Sends the outcome of a bulk grant, or a reminder that it awaits approval. Throws
   * `ReportUncertain` when the report may have been sent, and any other error when it was not.
   */
  send(report: BulkGrantReport): Promise<void>;
}

/** The report was handed over, but no answer says whether people get it. */
export class ReportUncertain extends Error {
  override readonly name = "ReportUncertain";
}

/** What a report says. */
export interface BulkGrantReport {
  readonly kind: "OUTCOME" | "REMINDER";
  readonly bulkGrant: BulkGrant;
  readonly workflowId: string;
  /** Where people find the source of the rows; absent when there is none. */
  readonly sourceUrl?: string;
}

/** The configured places from which rows come, by name. */
export interface BulkSources {
  /** Throws INVALID_REQUEST when there is no source or no file of this name. */
  open(source: string): Promise<OpenSource>;
  /** The configured sources whose new files are picked up. */
  readonly pickUps: readonly PickUpSource[];
  /** Lists a page of the new files of a source: names to be given to `open` and `move`. */
  listNew(sourceName: string, cursor?: string): Promise<Page<NewFile>>;
  /** Moves a file to `done/` or `failed/`. One that is not there any more needs no move. */
  move(source: string, to: "done" | "failed"): Promise<void>;
  /** Writes failed rows back, where the source can have them; otherwise does nothing. */
  writeFailures(
    source: string,
    bulkGrant: { readonly bulkGrantId: string; readonly revision: number },
    failures: AsyncIterable<FailedRow>,
  ): Promise<void>;
  /** Where people find a source; undefined when it has no address, or is not configured. */
  urlOf(source: string): string | undefined;
}

/** A new file, and the bulk_grant_id that its name gives, or its name and content. */
interface NewFile {
  readonly source: string;
  readonly bulkGrantId: string;
}

export interface PickUpSource {
  readonly name: string;
  readonly programId: string;
  /** When new files are picked up, in cron format, and in which time zone. */
  readonly cron: string;
  readonly timeZone: string;
}

/** Rows that come as bytes of CSV. */
interface OpenSource {
  /** Who submits what comes from this source. */
  readonly identity: string;
  readonly csv: AsyncIterable<Uint8Array>;
}

/** A row that was not granted, with what is wrong. */
export interface FailedRow {
  readonly row: SheetRow;
  readonly problem: RowProblem;
}
