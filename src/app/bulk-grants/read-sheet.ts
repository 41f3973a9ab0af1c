/** Reads the rows of a sheet in CSV, with what is wrong with each of them. */
import type { CsvError } from "csv-parse";
import { parse } from "csv-parse";
import { cutToBytes } from "../../domain/display-text.ts";
import { DomainError } from "../../domain/errors.ts";
import type { RowProblem, SheetCode, SheetProblem, SheetRow } from "../../domain/sheet.ts";
import { maxRows } from "../../domain/sheet.ts";
import { createRowCheck } from "./check-row.ts";
import { decodeSheet, maxLineBytes } from "./decode-sheet.ts";
import { restoreCell } from "./formula-cells.ts";
import { inSlices } from "./in-slices.ts";
import { sheetError } from "./sheet-error.ts";

/** What the rows of a sheet are checked against. */
export interface SheetContext {
  readonly bulkGrantId: string;
  readonly maxPointsPerRow: number;
  /** Takes what is to be said about a sheet that is only checked. */
  readonly report?: SheetReport;
}

/** What is to be said about a sheet, besides the problems of its rows. */
export interface SheetReport {
  /** A problem of the first line. The rows are checked as far as the known columns allow. */
  onHeader(problem: SheetProblem): void;
  /** A user id had blanks around it, which are taken away. */
  onTrimmed(): void;
}

/** A line of a sheet. */
interface Line {
  readonly line: number;
  readonly cells: readonly string[];
}

const required = ["user_id", "points"] as const;
/** An export has more columns than a first sheet; those after `bulk_grant_id` are ignored. */
const optional = ["reason", "bulk_grant_id", "revision", "line", "error_code", "error"] as const;

type Column = (typeof required)[number] | (typeof optional)[number];

/** The names of columns in Japanese. */
const japanese: Readonly<Record<string, Column>> = {
  ユーザーid: "user_id",
  ポイント: "points",
  理由: "reason",
};

/** The separators of other formats, by their names. */
const otherSeparators = { semicolons: ";", tabs: "\t", "vertical bars": "|" };

/** The index of each column that the sheet has. */
type Columns = ReadonlyMap<Column, number>;

const isColumn = (name: string): name is Column =>
  ([...required, ...optional] as readonly string[]).includes(name);

/** A name in a message is cut to this many bytes. */
const maxNameBytes = 64;

/**
 * Yields the rows of a sheet as its bytes arrive. A row with a fault of its own is yielded with its
 * problem. Lines are numbered as spreadsheet programs number them, so a cell with line breaks is in
 * one line. Blank lines are skipped. An apostrophe before a cell that starts like a formula is
 * taken away, as `writeSheet` puts it there, and so are blanks around a user id. Memory grows only
 * with the users, by a few bytes each. Errors of `csv` are thrown as they are. Refusal:
 * INVALID_REQUEST, with a SheetCode in its metadata, for a sheet that cannot be read; rows before
 * the fault may have been yielded.
 */
export async function* readSheet(
  csv: AsyncIterable<Uint8Array>,
  context: SheetContext,
): AsyncGenerator<SheetRow> {
  const check = createRowCheck(context.maxPointsPerRow);
  let header: Line | undefined;
  let columns: Columns = new Map();
  let lineCount = 0;
  let hasRows = false;
  for await (const line of linesOf(csv)) {
    if (++lineCount > maxRows + 1) {
      throw unreadable("TOO_MANY_ROWS", line.line, `the sheet has more than ${maxRows} rows`);
    }
    if (isBlank(line.cells)) continue;
    if (!header) {
      columns = readColumns(line, context.report);
      header = line;
      continue;
    }
    hasRows = true;
    const cell = (name: Column) => {
      const index = columns.get(name);
      return index === undefined ? undefined : restoreCell(line.cells[index] ?? "");
    };
    const found = cell("user_id");
    const userId = found?.trim();
    if (userId !== found) context.report?.onTrimmed();
    const cells = { userId, points: cell("points"), reason: cell("reason") ?? "" };
    yield check(line.line, cells, lineProblem(line, header, cell("bulk_grant_id") ?? "", context));
  }
  if (!hasRows) throw unreadable("EMPTY", header?.line ?? 1, "the sheet has no rows");
}

/** Returns the bulk grant that the first row names; undefined without one, as in a faulty sheet. */
export async function bulkGrantIdIn(csv: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  let column: number | undefined;
  try {
    for await (const { cells } of linesOf(csv)) {
      if (isBlank(cells)) continue;
      if (column !== undefined) return restoreCell(cells[column] ?? "").trim() || undefined;
      column = cells.map(columnName).indexOf("bulk_grant_id");
    }
  } catch (error) {
    const isFault = error instanceof DomainError && error.metadata.field === "csv";
    if (!isFault) throw error;
  }
  return undefined;
}

/** Returns what makes the cells of a line unusable. */
function lineProblem(
  { cells }: Line,
  header: Line,
  bulkGrantIdCell: string,
  context: SheetContext,
): RowProblem | undefined {
  if (cells.length !== header.cells.length) {
    return { code: "COLUMNS_DIFFER", detail: String(cells.length) };
  }
  const bulkGrantId = bulkGrantIdCell.trim();
  if (bulkGrantId === "" || bulkGrantId === context.bulkGrantId) return undefined;
  return { code: "OTHER_BULK_GRANT", detail: cutToBytes(bulkGrantId, maxNameBytes) };
}

/** Finds the columns. Refuses the sheet for all that is wrong with them, or reports that. */
function readColumns(header: Line, report: SheetReport | undefined): Columns {
  const { columns, problems } = columnsOf(header);
  const [first] = problems;
  if (first && !report) {
    throw sheetError("csv", { ...first, message: problems.map((each) => each.message).join("; ") });
  }
  for (const problem of problems) report?.onHeader(problem);
  return columns;
}

/**
 * Finds the columns by the names in the first line, in upper or lower case, half or full width, and
 * what is wrong with the other ones. Refusal: HEADER_MISSING, when no name is known.
 */
function columnsOf({ line, cells }: Line): {
  readonly columns: Columns;
  readonly problems: readonly SheetProblem[];
} {
  const names = cells.map(columnName);
  if (!names.some(isColumn)) throw unreadable("HEADER_MISSING", line, noHeader(cells));
  const columns = new Map<Column, number>();
  const problems: SheetProblem[] = [];
  for (const [index, name] of names.entries()) {
    const shown = `column ${index + 1}, "${cutToBytes(name, maxNameBytes)}",`;
    if (!isColumn(name)) {
      problems.push({ code: "COLUMN_UNKNOWN", line, message: `${shown} is not known` });
    } else if (columns.has(name)) {
      problems.push({ code: "COLUMN_TWICE", line, message: `${shown} is there twice` });
    } else columns.set(name, index);
  }
  for (const name of required.filter((name) => !columns.has(name))) {
    problems.push({ code: "COLUMN_MISSING", line, message: `the column ${name} is missing` });
  }
  return { columns, problems };
}

function columnName(cell: string): string {
  const name = cell.normalize("NFKC").trim().toLowerCase();
  return japanese[name] ?? name;
}

/** Says which separator the first line has, if it is another one than commas. */
function noHeader(cells: readonly string[]): string {
  for (const [name, separator] of Object.entries(otherSeparators)) {
    if (cells.join(",").split(separator).map(columnName).some(isColumn)) {
      return `the cells are separated by ${name}; save the sheet with commas`;
    }
  }
  return "the first line has to name the columns: user_id, points and maybe reason";
}

const isBlank = (cells: readonly string[]): boolean => cells.every((cell) => cell.trim() === "");

/**
 * Yields the lines that are not blank, and blank ones with another number of cells than the first
 * line: they are slow to parse, so they have to count against the limit of rows. The parser hands
 * each line to `on_record` during the write, not to its readable side, whose buffer an error would
 * discard.
 */
async function* linesOf(csv: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let lines: Line[] = [];
  const parser = parse({
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    // No single line reaches this, with up to 3 bytes of UTF-8 for each byte: only a cell over
    // many lines does.
    max_record_size: 4 * maxLineBytes,
    on_record: (cells: string[], { records, empty_lines, error }) => {
      if (!error && isBlank(cells)) return null;
      lines.push({ line: records + empty_lines, cells });
      return null;
    },
  });
  // The callbacks of `write` and `end` get the error; without a listener it would be thrown, too.
  parser.on("error", () => {});
  const takeLines = () => {
    const taken = lines;
    lines = [];
    return taken;
  };
  try {
    for await (const text of decodeSheet(inSlices(csv))) {
      const error = await new Promise<unknown>((resolve) => {
        withoutStacks(() => parser.write(text, resolve));
      });
      yield* takeLines();
      if (error) throw csvError(error as CsvError);
    }
    const error = await new Promise<unknown>((resolve) => parser.end(resolve));
    yield* takeLines();
    if (error) throw csvError(error as CsvError);
  } finally {
    parser.destroy();
  }
}

/**
 * Parses without the stacks of errors. The parser makes an error of each line with another number
 * of cells than the first, whose stack takes most of the time of such a line.
 */
function withoutStacks(parse: () => void): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    parse();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Returns the refusal for an error of the parser, in the line where the faulty line starts. */
function csvError(error: CsvError): Error {
  const line = Number(error.records) + Number(error.empty_lines) + 1;
  switch (error.code as string) {
    case "CSV_QUOTE_NOT_CLOSED":
    case "CSV_MAX_RECORD_SIZE":
      return unreadable("QUOTE_NOT_CLOSED", line, "a quote is opened and never closed");
    case "CSV_INVALID_CLOSING_QUOTE":
    case "INVALID_OPENING_QUOTE":
      return unreadable("CSV_MALFORMED", line, "a quote in a cell has to be doubled, in quotes");
    default:
      return error;
  }
}

const unreadable = (code: SheetCode, line: number, message: string) =>
  sheetError("csv", { code, line, message });
