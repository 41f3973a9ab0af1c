/** Reads of bulk grants, and the store of their rows. */

import { LoggableError } from "../../platform/ports/described-errors.ts";
import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { StreamCall, StreamEnd, Streams } from "../../platform/ports/streams.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import type { RuleReporter } from "../../points/ports/programs.ts";
import type {
  Announcement,
  BulkGrant,
  BulkGrantName,
  BulkGrantState,
  SheetAddress,
} from "../rules/bulk-grant.ts";
import type { BulkGrantSummary } from "../rules/bulk-grant-summary.ts";
import type { RowProblem, SheetRow } from "../rules/sheet.ts";
import type { SheetEncoding } from "../rules/sheet-reading.ts";

/** The rows of a sheet before they belong to a bulk grant. A cut-off upload leaves this record. */
export interface PendingUpload {
  readonly uploadId: string;
  readonly startTime: Instant;
  /** Its rows are being deleted, so it can become no revision any more. */
  readonly isDropped?: true | undefined;
}

/** The result of the validation of one block. Rows have their index in the block. */
export interface BlockCheck {
  readonly revision: number;
  readonly alreadyGranted: readonly number[];
  readonly alreadyGrantedPoints: Points;
  /** The rows without an account, those that are wrong in themselves included. */
  readonly withoutAccount: readonly number[];
  /** Of right rows: the users without an account, and those whose account is frozen. */
  readonly withoutAccountCount: number;
  readonly frozenCount: number;
  /** In the order of the rows. A row that has several problems is there with each of them. */
  readonly problems: readonly BlockProblem[];
}

/** A row of a block, by its index, and a problem of it. */
export interface BlockProblem extends RowProblem {
  readonly index: number;
}

/** The outcome of one block in a run. */
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
  /**
   * Lists the bulk grants of all programs that are in an active state, or are to be counted again
   * at some time. Lags behind by moments.
   */
  activeBulkGrants(page: PageRequest): Promise<Page<BulkGrantName>>;
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
export interface Reporter extends RuleReporter {
  /**
   * Sends the outcome of a bulk grant, or an announcement of its wait for approvals. Throws
   * `ReportUncertain` when the report may have been sent, and any other error when it was not.
   */
  send(report: BulkGrantReport): Promise<void>;
  /** Sends which sheets a pick-up has refused, or has left. Throws as `send`. */
  sendPickUp(report: PickUpReport): Promise<void>;
}

/** The report was not sent. The message says why, and nothing of the report. */
export class ReportFailed extends LoggableError {
  override readonly name: string = "ReportFailed";
}

/** The report was handed over, but no answer says whether people get it. */
export class ReportUncertain extends ReportFailed {
  override readonly name = "ReportUncertain";
}

/** The content of a report. */
export interface BulkGrantReport {
  readonly kind: "OUTCOME" | "REMINDER" | Announcement;
  readonly bulkGrant: BulkGrant;
  /** Of a wait that has begun. */
  readonly summary?: BulkGrantSummary | undefined;
  readonly workflowId: string;
}

/** The sheets of a pick-up that people have to look after. */
export interface PickUpReport {
  readonly programId: string;
  /** The first of them. */
  readonly sheets: readonly RefusedSheet[];
  /** The number of further ones. */
  readonly moreCount: number;
  readonly workflowId: string;
}

/** A sheet that was refused or left in its source, and why. */
export interface RefusedSheet {
  readonly source: string;
  readonly reason: string;
  readonly message?: string | undefined;
  /** The address or the name of what says all that is wrong with it. */
  readonly errorsAt?: string | undefined;
  /** The address or the name of the sheet where it is now; absent when it is not moved. */
  readonly movedTo?: string | undefined;
}

/** The configured places from which rows come, by name. Only workers read and write them. */
export interface BulkSources {
  /**
   * Opens a file whose rows are to be granted in a program. Throws INVALID_REQUEST when there is no
   * source or no file of this name, and PERMISSION_DENIED when the source may not grant there.
   */
  open(source: string, programId: string): Promise<OpenSource>;
  /** Lists a page of the new files of a source: names to be given to `open` and `move`. */
  listNew(sourceName: string, cursor?: string): Promise<Page<NewFile>>;
  /**
   * Moves a file to `done/` or `failed/`, and returns where it is then. One that is not there any
   * more needs no move.
   */
  move(source: string, to: "done" | "failed"): Promise<SheetAddress | undefined>;
  /**
   * Writes what is wrong with a sheet where people find it, and returns where: a tab of the
   * spreadsheet, or `failed/<name>.errors.csv`, which is written again. May be repeated.
   */
  writeErrors(sheet: SourceRef, errors: ErrorSheet): Promise<SheetAddress>;
}

/** A sheet of a source, and its address, if it is known. */
interface SourceRef {
  readonly source: string;
  readonly url?: string | undefined;
}

/** The cells of a row. */
export type SheetCells = readonly (string | number)[];

/** The problems of a sheet, as a sheet. One of `rows` and `csv` can be read, once. */
export interface ErrorSheet {
  /** The title of its tab in a spreadsheet. */
  readonly title: string;
  /** The rows from the header on, for a tab. */
  readonly rows: AsyncIterable<SheetCells>;
  /** The same rows in CSV, for a file. */
  readonly csv: AsyncIterable<string>;
}

/** A new file, the bulk_grant_id that its name gives, or its name and content, and its title. */
interface NewFile {
  readonly source: string;
  readonly bulkGrantId: string;
  readonly title: string;
}

/** A source whose new files are picked up. */
export interface PickUpSource {
  readonly name: string;
  readonly programId: string;
  /** When new files are picked up, in cron format, and in which time zone. */
  readonly cron: string;
  readonly timeZone: string;
}

/** Rows that come as bytes of CSV. */
interface OpenSource {
  /** The caller that submits the sheets of this source. */
  readonly identity: string;
  readonly csv: AsyncIterable<Uint8Array>;
  /** Where people find the sheet in a browser, also after a move; absent without an address. */
  readonly url?: string | undefined;
  /** The encoding that the source says for its CSV files; absent when it says none. */
  readonly encoding?: SheetEncoding | undefined;
}

/** A row that was not granted, with what is wrong. */
export interface FailedRow {
  readonly row: SheetRow;
  /** One or more. */
  readonly problems: readonly RowProblem[];
}
