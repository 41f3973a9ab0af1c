/** Reads the rows of a sheet in CSV, with what is wrong with each of them. */

import { cutToBytes } from "../../platform/words/display-text.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { listed } from "../../platform/words/quantities.ts";
import {
  maxRows,
  problemText,
  type RowProblem,
  type SheetCode,
  type SheetProblem,
  type SheetRow,
} from "../rules/sheet.ts";
import { createRowCheck, type RowCells, type RowRules } from "./check-row.ts";
import { decodeSheet, tooLong } from "./decode-sheet.ts";
import { restoreCell } from "./formula-cells.ts";
import { foundText } from "./found-text.ts";
import { inSlices } from "./in-slices.ts";
import { sheetError } from "./sheet-error.ts";
import { createRecordSplitter, type SheetRecord } from "./split-records.ts";

/** The parameters by which the rows of a sheet are checked. */
export interface SheetContext extends RowRules {
  readonly bulkGrantId: string;
  /** Gets the findings of a sheet that is only checked. */
  readonly report?: SheetReport | undefined;
}

/** Gets the findings of a sheet besides the problems of its rows. */
export interface SheetReport {
  /** A problem of the first line. The rows are checked as far as the known columns allow. */
  onHeader(problem: SheetProblem): void;
  /** A user id had blanks around it, which are taken away. */
  onTrimmed(): void;
}

const required = ["user_id", "points"] as const;
/** An export has more columns than a first sheet; those after `bulk_grant_id` are ignored. */
const optional = [
  "reason",
  "expire_month",
  "bulk_grant_id",
  "revision",
  "line",
  "error_code",
  "error",
] as const;

type Column = (typeof required)[number] | (typeof optional)[number];

/** The names of columns in Japanese. */
const japanese: ReadonlyMap<string, Column> = new Map([
  ["ユーザーid", "user_id"],
  ["ポイント", "points"],
  ["理由", "reason"],
  ["失効月", "expire_month"],
]);

/** The separators of other formats, by their names. */
const otherSeparators = {
  semicolons: ";",
  tabs: "\t",
  "vertical bars": "|",
  "full-width commas": "，",
};

/** The index of each column that the sheet has. */
type Columns = ReadonlyMap<Column, number>;

const isColumn = (name: string): name is Column =>
  ([...required, ...optional] as readonly string[]).includes(name);

/** A name in a message is cut to this many bytes. */
const maxNameBytes = 64;

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
  let rowOf: ((record: SheetRecord) => SheetRow) | undefined;
  let rowCount = 0;
  for await (const record of recordsOf(csv)) {
    if (!rowOf) {
      line = record.line;
      rowOf = createRowReader(record, context);
      continue;
    }
    if (++rowCount > maxRows) {
      throw unreadable("TOO_MANY_ROWS", record.line, `the sheet has more than ${maxRows} rows`);
    }
    yield rowOf(record);
  }
  if (rowCount === 0) throw unreadable("EMPTY", line, "the sheet has no rows");
}

/** Returns the bulk grant that the first row names; undefined without one, as in a faulty sheet. */
export async function bulkGrantIdIn(csv: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  let column: number | undefined;
  try {
    for await (const { cells, fault } of recordsOf(csv)) {
      if (column === undefined) column = cells.map(columnName).indexOf("bulk_grant_id");
      else if (!fault) return restoreCell(cells[column] ?? "").trim() || undefined;
    }
  } catch (error) {
    const isFault = error instanceof DomainError && error.metadata.field === "csv";
    if (!isFault) throw error;
  }
  return undefined;
}

/** Returns a function that makes a row of each record behind the header. */
function createRowReader(header: SheetRecord, context: SheetContext) {
  const check = createRowCheck(context);
  const columns = readColumns(header, context.report);

  function cellOf(cells: readonly string[], name: Column): string | undefined {
    const text = cells[columns.get(name) ?? -1];
    return text === undefined ? undefined : restoreCell(text);
  }

  /** The cells that become a row. */
  const rowCells = (cells: readonly string[]): RowCells => ({
    userId: cellOf(cells, "user_id")?.trim(),
    points: cellOf(cells, "points"),
    reason: cellOf(cells, "reason"),
    expireMonth: cellOf(cells, "expire_month"),
  });

  /** The problems of a record as a whole, without those of its checked cells. */
  function problemsOf({ cells, fault }: SheetRecord): RowProblem[] {
    const problems: RowProblem[] = [];
    if (fault) problems.push(faultProblem(fault));
    else if (cells.length !== header.cells.length && !header.fault) {
      problems.push({ code: "COLUMNS_DIFFER", detail: String(cells.length) });
    }
    const bulkGrantId = cellOf(cells, "bulk_grant_id")?.trim() ?? "";
    if (bulkGrantId !== "" && bulkGrantId !== context.bulkGrantId) {
      problems.push({
        code: "OTHER_BULK_GRANT",
        detail: cutToBytes(bulkGrantId, maxNameBytes),
      });
    }
    return problems;
  }

  return (record: SheetRecord): SheetRow => {
    const { line, cells, fault } = record;
    const read = rowCells(cells);
    if (read.userId !== cellOf(cells, "user_id")) context.report?.onTrimmed();
    const kept = fault ? rowCells([...cells, fault.rest]) : read;
    return check(line, read, problemsOf(record), kept);
  };
}

const faultProblem = ({ code, rest }: NonNullable<SheetRecord["fault"]>): RowProblem => ({
  code,
  detail: rest === "" ? undefined : foundText(rest),
});

/** Finds the columns. Refuses the sheet for all that is wrong with them, or reports that. */
function readColumns(header: SheetRecord, report: SheetReport | undefined): Columns {
  const { columns, problems } = columnsOf(header);
  const [first] = problems;
  if (first && !report) {
    throw sheetError("csv", { ...first, message: listed(problems.map((each) => each.message)) });
  }
  for (const problem of problems) report?.onHeader(problem);
  return columns;
}

/**
 * Finds the columns by the names in the first line, in upper or lower case, half or full width, and
 * what is wrong with the other ones. The columns of a broken line are those before the fault.
 * Refusal: HEADER_MISSING or the fault, when no name is known.
 */
function columnsOf({ line, cells, fault }: SheetRecord): {
  readonly columns: Columns;
  readonly problems: readonly SheetProblem[];
} {
  const names = cells.map(columnName);
  const broken = fault && { code: fault.code, line, message: problemText(faultProblem(fault)) };
  if (!names.some(isColumn)) {
    const text = [...cells, ...(fault ? [fault.rest] : [])].join(",");
    const separator = separatorOf(text);
    if (broken && !separator) throw sheetError("csv", broken);
    throw unreadable("HEADER_MISSING", line, separator ?? `${nameColumns}; ${foundText(text)}`);
  }
  const columns = new Map<Column, number>();
  const problems: SheetProblem[] = broken ? [broken] : [];
  for (const [index, name] of names.entries()) {
    const column = `column ${index + 1}`;
    if (!isColumn(name)) {
      const message = `${column} is not known: ${foundText(cells[index] ?? "")}`;
      problems.push({ code: "COLUMN_UNKNOWN", line, message });
    } else if (columns.has(name)) {
      problems.push({ code: "COLUMN_TWICE", line, message: `${column}, ${name}, is there twice` });
    } else columns.set(name, index);
  }
  for (const name of fault ? [] : required.filter((name) => !columns.has(name))) {
    problems.push({ code: "COLUMN_MISSING", line, message: `the column ${name} is missing` });
  }
  return { columns, problems };
}

function columnName(cell: string): string {
  const name = cell.normalize("NFKC").trim().toLowerCase();
  return japanese.get(name) ?? name;
}

const nameColumns = "the first line has to name the columns: user_id, points and maybe reason";

/** Says which separator the first line has, if it is another one than commas. */
function separatorOf(text: string): string | undefined {
  for (const [name, separator] of Object.entries(otherSeparators)) {
    if (text.replaceAll('"', "").split(separator).map(columnName).some(isColumn)) {
      return `the cells are separated by ${name}; save the sheet with commas`;
    }
  }
  return undefined;
}

/** Yields the records that are not blank. Those before an error are yielded before it. */
async function* recordsOf(csv: AsyncIterable<Uint8Array>): AsyncGenerator<SheetRecord> {
  const splitter = createRecordSplitter();
  try {
    for await (const text of decodeSheet(inSlices(csv))) {
      yield* filled(text === tooLong ? splitter.addTooLong() : splitter.add(text));
    }
  } catch (error) {
    yield* filled(splitter.end());
    throw error;
  }
  yield* filled(splitter.end());
}

function* filled(records: Iterable<SheetRecord>): Generator<SheetRecord> {
  for (const record of records) {
    if (record.fault || record.cells.some((cell) => cell.trim() !== "")) yield record;
  }
}

const unreadable = (code: SheetCode, line: number, message: string) =>
  sheetError("csv", { code, line, message });
