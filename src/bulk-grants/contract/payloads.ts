/** The payloads of bulk grants and pick-ups: what their runs, Updates and activities get. */
import { z } from "zod";
import {
  changeFields,
  displayText,
  exactPayload,
  listOf,
  maxSubjectBytes,
  month,
  payload,
  programId,
  text,
  textThat,
  time,
  whole,
} from "../../platform/contract/payloads.ts";
import { maxCauseBytes } from "../../platform/words/display-text.ts";
import { bulkGrantIdRule, isBulkGrantId } from "../rules/bulk-grant-id.ts";
import { sheetEncodings } from "../rules/sheet-reading.ts";

const bulkGrantId = textThat(isBulkGrantId, bulkGrantIdRule);

const key = { program_id: programId, bulk_grant_id: bulkGrantId };

/** Names a bulk grant that is submitted: the input of its workflow and of its activities. */
export const bulkGrantInput = payload(key);
export type BulkGrantInput = z.input<typeof bulkGrantInput>;

/** Completes the validation of a revision. */
export const revisionInput = payload({ ...key, revision: whole });

/** Ends a run over rows. */
export const runInput = payload({ ...key, run: whole });

/** Validates or executes a range of blocks: from `from` up to, not including, `to`. */
export const blocksInput = payload({ ...key, revision: whole, run: whole, from: whole, to: whole });

/** The argument of an Update. A name is required, because approvals depend on it. */
export const bulkChangeInput = payload({
  ...changeFields,
  subject: displayText(maxSubjectBytes, 1),
});
export type BulkChangeInput = z.input<typeof bulkChangeInput>;

/** The id may be that of a file, which the submission refuses when it is none. */
const sheet = { program_id: programId, bulk_grant_id: text, source: text };

const ofSource = {
  ...sheet,
  /** The name for people: at most 96 bytes. */
  title: text.optional(),
  /** The cause, for the ledger entry of every row. */
  cause: text.optional(),
  /** Who starts the run. Not verified. Absent: the schedule or the client. */
  subject: displayText(maxSubjectBytes).optional(),
  /** Absent: as soon as it is approved. */
  execute_time: time.optional(),
  /** At whose end the points expire of rows without a month of their own. */
  expire_month: month.optional(),
  /** The encoding of the sheet. Absent: that of the source, or the one that the bytes have. */
  encoding: z.enum(sheetEncodings, `must be one of ${sheetEncodings.join(", ")}`).optional(),
  /** Whether the rows of 0 points are left out. */
  skip_zero: z.boolean("must be true or false").optional(),
};

/**
 * Starts a bulk grant from a source, by Temporal's client, its CLI or a schedule. `{date}` in
 * `bulk_grant_id`, `source`, `title` and `cause` stands for the day of the start, such as
 * 2026-12-01, in the time zone of the program: for a schedule, the day for which it was scheduled.
 * The source is the name of a configured source, `/`, and the path of the file in it.
 */
export const bulkGrantOfSource = payload(ofSource);
export type BulkGrantOfSource = z.input<typeof bulkGrantOfSource>;

/** Submits a sheet from a source. The start is the instant whose day `{date}` stands for. */
export const submitFromSourceInput = payload({ ...ofSource, start_time: time });

/** So many rows are at most in the input of a run, whose payload Temporal limits to 2 MiB. */
const maxRowsOfRun = 10_000;

/** A row. What is wrong with its values is a problem of the row, as in a sheet. */
const rowOfRun = z.strictObject(
  {
    user_id: z.string("must be a text"),
    points: z.number("must be a number"),
    reason: z.string("must be a text").optional(),
    /** Absent: that of the bulk grant, if any. */
    expire_month: z.string("must be a text").optional(),
  },
  { error: ({ code }) => (code === "invalid_type" ? "must be an object" : undefined) },
);

/** Too many rows are refused before any is read: each wrong one costs as much as ten right ones. */
const rowsOfRun = z
  .array(z.custom<z.input<typeof rowOfRun>>(), "must be a list")
  .readonly()
  .refine(({ length }) => length <= maxRowsOfRun, {
    error: `must be at most ${maxRowsOfRun} rows`,
    abort: true,
  })
  .pipe(listOf(rowOfRun));

/**
 * Starts a bulk grant with its rows, by Temporal's client, its CLI or a schedule. The submitter is
 * the starter of the run.
 */
export const bulkGrantOfRows = exactPayload({
  ...key,
  rows: rowsOfRun,
  /** The name for people: at most 96 bytes. */
  title: text.optional(),
  /** The cause, for the ledger entry of every row. */
  cause: displayText(maxCauseBytes).optional(),
  /** Who starts the run. Not verified. Absent: the schedule or the client. */
  subject: displayText(maxSubjectBytes).optional(),
  /** Absent: as soon as it is approved. */
  execute_time: time.optional(),
  /** At whose end the points expire of rows without a month of their own. */
  expire_month: month.optional(),
});
export type BulkGrantOfRows = z.input<typeof bulkGrantOfRows>;

/** The cause, in which `{date}` is replaced. */
export const cause = displayText(maxCauseBytes);

/** Submits a new file. The start is that of the pick-up. */
export const pickUpSheetInput = payload({ ...sheet, title: text, start_time: time });

/** Requests a page of the new files of a source. */
export const newFilesInput = payload({
  source_name: text,
  /** Of the page before; absent for the first page. */
  cursor: text.optional(),
});

/** Moves a file to `done/` or `failed/`. */
export const moveFileInput = payload({
  ...sheet,
  /** The bulk grant to which it was submitted; absent when it was refused. */
  bulk_grant_id: bulkGrantId.optional(),
  to: z.enum(["done", "failed"], "must be done or failed"),
});
export type MoveFileInput = z.input<typeof moveFileInput>;

/** Writes what is wrong with a file that was refused. */
export const writeRefusalInput = payload({ ...sheet, reason: text, message: text });
export type WriteRefusalInput = z.input<typeof writeRefusalInput>;

/** A file, and a reason of `words/reasons.ts`, a state of a bulk grant, or NOT_MOVED. */
const fileWithReason = z.object(
  {
    source: text,
    reason: text,
    /** A message for people. */
    message: z.string("must be a text").optional(),
    /** The address or the name of the sheet with all of its problems. */
    errors_at: text.optional(),
    /** The address or the name of the file where it is now; absent when it is not moved. */
    moved_to: text.optional(),
  },
  "must be an object",
);
export type FileWithReason = z.input<typeof fileWithReason>;

/** Reports which files of a pick-up were refused or left. */
export const pickUpReportInput = payload({
  program_id: programId,
  /** The first of them. */
  files: listOf(fileWithReason),
  /** The number of further ones. */
  more_count: whole,
});
