/** Reads the rows of a sheet, in CSV or .xlsx, with what is wrong with each of them. */

import { cutToBytes } from "../../platform/words/display-text.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Month } from "../../platform/words/month.ts";
import { maxRows, type RowProblem, type SheetCode, type SheetRow } from "../rules/sheet.ts";
import type { SheetEncoding, SheetReading } from "../rules/sheet-reading.ts";
import { createRowCheck, isZero, type RowCells, type RowRules } from "./check-row.ts";
import { createReadingCollection, type SheetForm } from "./collect-reading.ts";
import { decodeSheet, tooLong } from "./decode-sheet.ts";
import { restoreCell } from "./formula-cells.ts";
import { inSlices } from "./in-slices.ts";
import { peek } from "./peek.ts";
import {
  type Column,
  columnName,
  faultProblem,
  type HeaderReport,
  isBlank,
  maxNameBytes,
  readColumns,
  readColumnsOf,
  required,
} from "./sheet-columns.ts";
import { sheetError } from "./sheet-error.ts";
import { createRecordSplitter, type SheetRecord } from "./split-records.ts";
import { isWorkbook, readWorkbook } from "./workbook/read-workbook.ts";
import { faultsIn, unreadText, withCells } from "./workbook-rows.ts";

/** The parameters by which a sheet is read, and its rows are checked. */
export interface SheetContext extends ReadingOptions, RowRules {
  readonly bulkGrantId: string;
  /** Who sends it: its workbooks hold a share of the memory. */
  readonly sender?: string | undefined;
  /** The encoding of a CSV that the submission names none for. */
  readonly sourceEncoding?: SheetEncoding | undefined;
  /** At whose end the points expire of rows without a month of their own. */
  readonly expireMonth?: Month | undefined;
  /** Gets how the sheet was understood, when it is read to its end. */
  readonly onReading?: ((reading: SheetReading) => void) | undefined;
  /** Gets the findings of a sheet that is only checked. */
  readonly report?: SheetReport | undefined;
}

/** What a submission says of its sheet. */
export interface ReadingOptions {
  /** Of a CSV. Absent: that of its source, or the one that the bytes certainly have. */
  readonly encoding?: SheetEncoding | undefined;
  /** Whether the rows of 0 points are left out and counted. */
  readonly skipZero?: boolean | undefined;
}

/** Gets the findings of a sheet besides the problems of its rows. */
export interface SheetReport extends HeaderReport {
  /** A user id had blanks around it, which are taken away. */
  onTrimmed(): void;
}

/**
 * Yields the rows of a sheet as its bytes arrive. A row with faults of its own is yielded with its
 * problems, also one that is no CSV. Lines are numbered as spreadsheet programs number them, so a
 * cell with line breaks is in one line. Blank lines are skipped. An apostrophe before a cell that
 * starts like a formula is taken away, as `writeSheet` puts it there, and so are blanks around a
 * user id. Memory grows only with the users, by a few bytes each. Errors of `csv` are thrown as
 * they are. Refusal: INVALID_REQUEST, with a SheetCode in its metadata, for a sheet that cannot be
 * read; rows before the fault may have been yielded.
 */
export async function* readSheet(
  csv: AsyncIterable<Uint8Array>,
  context: SheetContext,
): AsyncGenerator<SheetRow> {
  let line = 1;
  let reader: ReturnType<typeof createRowReader> | undefined;
  let rowCount = 0;
  const chunks = csv[Symbol.asyncIterator]();
  try {
    const { records, form } = await sheetRecords(chunks, context);
    for await (const record of records) {
      if (!reader) {
        line = record.line;
        reader = createRowReader(record, context, form);
        continue;
      }
      if (++rowCount > maxRows) {
        throw unreadable("TOO_MANY_ROWS", record.line, `the sheet has more than ${maxRows} rows`);
      }
      const row = reader.rowOf(record);
      if (row) yield row;
    }
    if (!reader || rowCount === 0) throw unreadable("EMPTY", line, "the sheet has no rows");
    const reading = reader.reading();
    if (reading.skippedZeroCount === rowCount) {
      throw unreadable("EMPTY", line, "each row of the sheet has 0 points");
    }
    context.onReading?.(reading);
  } finally {
    // A sheet may be refused at its first bytes, and the other ones keep a file open.
    await chunks.return?.();
  }
}

/** Returns the bulk grant that the first row names; undefined without one, as in a faulty sheet. */
export async function bulkGrantIdIn(
  csv: AsyncIterable<Uint8Array>,
  sourceEncoding?: SheetEncoding | undefined,
): Promise<string | undefined> {
  let column: number | undefined;
  const chunks = csv[Symbol.asyncIterator]();
  try {
    const { records } = await sheetRecords(chunks, { sourceEncoding });
    for await (const { cells, fault } of records) {
      if (column === undefined) column = cells.map(columnName).indexOf("bulk_grant_id");
      else if (!fault) return restoreCell(cells[column] ?? "").trim() || undefined;
    }
  } catch (error) {
    const isFault = error instanceof DomainError && error.metadata.field === "csv";
    if (!isFault) throw error;
  } finally {
    await chunks.return?.();
  }
  return undefined;
}

/** Creates what makes a row of each record behind the header, and says how it was understood. */
function createRowReader(header: SheetRecord, context: SheetContext, form: () => SheetForm) {
  const { separator } = form();
  const check = createRowCheck(context);
  const columns = readColumns(header, context.report, separator);
  const readings = createReadingCollection(readColumnsOf(header), context);
  const unnamed = header.cells.flatMap((name, index) => (isBlank(name) ? [index] : []));

  function cellOf(cells: RecordCells, name: Column): string | undefined {
    const text = cells[columns.get(name) ?? -1];
    return text === undefined ? undefined : restoreCell(text);
  }

  /** The cells that become a row. */
  const rowCells = (cells: RecordCells): RowCells => ({
    userId: cellOf(cells, "user_id")?.trim(),
    points: cellOf(cells, "points"),
    reason: cellOf(cells, "reason"),
    expireMonth: cellOf(cells, "expire_month"),
  });

  /**
   * The problems of a record whose cells are not those of the header. Programs leave out empty
   * cells at the end of a line, and write some behind it.
   */
  function shapeProblems(cells: readonly string[]): RowProblem[] {
    if (cells.length === header.cells.length && unnamed.length === 0) return [];
    const lacks = (name: Column) => (columns.get(name) ?? -1) >= cells.length;
    if (required.some(lacks) || cells.slice(header.cells.length).some((cell) => !isBlank(cell))) {
      return [{ code: "COLUMNS_DIFFER", detail: String(cells.length) }];
    }
    const filled = unnamed.find((index) => !isBlank(cells[index] ?? ""));
    return filled === undefined ? [] : [{ code: "COLUMN_UNNAMED", detail: String(filled + 1) }];
  }

  /** The problems of a record as a whole, without those of its checked cells. */
  function problemsOf({ cells, fault }: SheetRecord, checked: RecordCells): RowProblem[] {
    const problems: RowProblem[] = [];
    if (fault) problems.push(faultProblem(fault));
    else if (!header.fault) problems.push(...shapeProblems(cells));
    const bulkGrantId = cellOf(checked, "bulk_grant_id")?.trim() ?? "";
    if (bulkGrantId !== "" && bulkGrantId !== context.bulkGrantId) {
      problems.push({
        code: "OTHER_BULK_GRANT",
        detail: cutToBytes(bulkGrantId, maxNameBytes),
      });
    }
    return problems;
  }

  return {
    /** Returns undefined for a row of 0 points that is left out. */
    rowOf(record: SheetRecord): SheetRow | undefined {
      const { line, cells, fault, workbook } = record;
      const unread = faultsIn(record, columns);
      // Nearly all rows are whole: their cells are neither copied nor read twice.
      const isWhole = unread.size === 0 && !fault;
      const checked = isWhole
        ? cells
        : cells.map((text, index) => (unread.has(index) ? undefined : text));
      const read = rowCells(checked);
      const problems = [...unread.values(), ...problemsOf(record, checked)];
      if (context.skipZero && problems.length === 0 && isZero(read.points)) {
        readings.addSkippedZero();
        return undefined;
      }
      if (read.userId !== cellOf(checked, "user_id")) context.report?.onTrimmed();
      const kept = isWhole ? read : rowCells(keptCells(record, unread));
      const found = check(line, read, problems, kept);
      const row = workbook ? withCells(found, columns) : found;
      readings.add(row);
      return row;
    },
    reading: () => readings.result(form()),
  };
}

/** The cells that a row keeps: also those that were not read, and the rest of a broken line. */
const keptCells = (
  { cells, fault }: SheetRecord,
  unread: ReadonlyMap<number, RowProblem>,
): string[] => [
  ...cells.map((text, index) => (unread.has(index) ? unreadText(text) : text)),
  ...(fault ? [fault.rest] : []),
];

/** The texts of the cells of a record; undefined for one that is not to be checked. */
type RecordCells = readonly (string | undefined)[];

/** The records of a sheet, and its form, which is complete when they are read. */
interface SheetRecords {
  /** Those that are not blank. Those before an error are yielded before it. */
  readonly records: AsyncGenerator<SheetRecord>;
  form(): SheetForm;
}

/** The first bytes say whether it is a workbook, for which nobody may name an encoding. */
async function sheetRecords(
  chunks: AsyncIterator<Uint8Array>,
  { encoding, sourceEncoding, sender = "" }: Partial<SheetContext>,
): Promise<SheetRecords> {
  const { start, bytes } = await peek(chunks);
  if (!isWorkbook(start)) return csvRecords(bytes, encoding ?? sourceEncoding);
  if (encoding) throw unreadable("ENCODING_WRONG", 1, noEncoding);
  return readWorkbook(bytes, sender);
}

function csvRecords(
  csv: AsyncIterable<Uint8Array>,
  encoding: SheetEncoding | undefined,
): SheetRecords {
  const splitter = createRecordSplitter();
  const text = decodeSheet(inSlices(csv), encoding);
  async function* records(): AsyncGenerator<SheetRecord> {
    try {
      for await (const chunk of text.chunks) {
        yield* filled(chunk === tooLong ? splitter.addTooLong() : splitter.add(chunk));
      }
    } catch (error) {
      yield* filled(splitter.end());
      throw error;
    }
    yield* filled(splitter.end());
  }
  const form = (): SheetForm => ({
    format: "CSV",
    encoding: text.encoding(),
    separator: splitter.separator(),
  });
  return { records: records(), form };
}

function* filled(records: Iterable<SheetRecord>): Generator<SheetRecord> {
  for (const record of records) {
    if (record.fault || record.cells.some((cell) => cell.trim() !== "")) yield record;
  }
}

const noEncoding = "the file is a workbook (.xlsx), which has no encoding to name; leave it out";

const unreadable = (code: SheetCode, line: number, message: string) =>
  sheetError("csv", { code, line, message });
