/** The columns of a sheet: their names in the first line, and what is wrong with them. */

import { cutToBytes } from "../../platform/words/display-text.ts";
import { listed } from "../../platform/words/quantities.ts";
import { problemText, type RowProblem, type SheetProblem } from "../rules/sheet.ts";
import type { ReadColumn, Separator } from "../rules/sheet-reading.ts";
import { foundText } from "./found-text.ts";
import { sheetError } from "./sheet-error.ts";
import type { SheetRecord } from "./split-records.ts";
import { cellName } from "./workbook/cell-names.ts";

/** Gets the problems of the first line of a sheet that is only checked. */
export interface HeaderReport {
  /** A problem of the first line. The rows are checked as far as the known columns allow. */
  onHeader(problem: SheetProblem): void;
}

export const required = ["user_id", "points"] as const;
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

export type Column = (typeof required)[number] | (typeof optional)[number];

/** Those that are read. */
export const columnsRead: readonly Column[] = [
  ...required,
  "reason",
  "expire_month",
  "bulk_grant_id",
];

const isRead: ReadonlySet<string> = new Set(columnsRead);

/** Other names of columns, as programs and people write them. */
const aliases: ReadonlyMap<string, Column> = new Map([
  ["user id", "user_id"],
  ["userid", "user_id"],
  ["ユーザーid", "user_id"],
  ["会員id", "user_id"],
  ["会員番号", "user_id"],
  ["ポイント", "points"],
  ["ポイント数", "points"],
  ["理由", "reason"],
  ["失効月", "expire_month"],
]);

/** The separators that a first line may have, by their names. */
const separators = {
  commas: ",",
  semicolons: ";",
  tabs: "\t",
  "vertical bars": "|",
  "full-width commas": "，",
};

/** Those that a first line can name. */
const named = /[,;\t]/;

/** The index of each column that the sheet has. */
type Columns = ReadonlyMap<Column, number>;

const isColumn = (name: string): name is Column =>
  ([...required, ...optional] as readonly string[]).includes(name);

/** A name in a message is cut to this many bytes. */
export const maxNameBytes = 64;

/** A refusal names so many problems of the first line, because clients take short errors only. */
const maxNamed = 5;

/** The columns of the first line for people. */
export const readColumnsOf = ({ cells }: SheetRecord): ReadColumn[] =>
  cells
    .filter((cell) => !isBlank(cell))
    .map((cell) => {
      const name = columnName(cell);
      return {
        name: cutToBytes(cell.trim(), maxNameBytes),
        readAs: isRead.has(name) ? name : undefined,
      };
    });

/** Finds the columns. Refuses the sheet for all that is wrong with them, or reports that. */
export function readColumns(
  header: SheetRecord,
  report: HeaderReport | undefined,
  separator: Separator = ",",
): Columns {
  const { columns, problems } = columnsOf(header, separator);
  const [first] = problems;
  if (first && !report) {
    const messages = problems.slice(0, maxNamed).map((each) => each.message);
    const more = problems.length - messages.length;
    if (more > 0) messages.push(`${more} more of the first line`);
    throw sheetError("csv", { ...first, message: listed(messages) });
  }
  for (const problem of problems) report?.onHeader(problem);
  return columns;
}

/**
 * Finds the columns by the names in the first line, in upper or lower case, half or full width, and
 * what is wrong with the other ones. The columns of a broken line are those before the fault.
 * Refusal: HEADER_MISSING or the fault, when no name is known.
 */
function columnsOf(
  { line, cells, fault, workbook }: SheetRecord,
  separator: Separator,
): { readonly columns: Columns; readonly problems: readonly SheetProblem[] } {
  const names = cells.map(columnName);
  const broken = fault && { code: fault.code, line, message: problemText(faultProblem(fault)) };
  if (!names.some(isColumn)) {
    const text = [...cells, ...(fault ? [fault.rest] : [])].join(separator);
    const other = otherSeparator(text, separator);
    if (broken && !other) throw sheetError("csv", broken);
    const message = other ?? `${nameColumns}; ${foundText(text)}`;
    throw sheetError("csv", { code: "HEADER_MISSING", line, message });
  }
  const columns = new Map<Column, number>();
  const problems: SheetProblem[] = broken ? [broken] : [];
  for (const [index, name] of names.entries()) {
    const column = workbook ? cellName(index, line) : `column ${index + 1}`;
    if (name === "") continue;
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

export function columnName(cell: string): string {
  const name = cell.normalize("NFKC").trim().toLowerCase();
  return aliases.get(name) ?? name;
}

const nameColumns = "the first line has to name the columns: user_id, points and maybe reason";

/** Says which separator the first line has, if it is another one. */
function otherSeparator(text: string, separator: Separator): string | undefined {
  for (const [name, other] of Object.entries(separators)) {
    if (other === separator) continue;
    if (!text.replaceAll('"', "").split(other).map(columnName).some(isColumn)) continue;
    const orName = named.test(other) ? ", or name it in a line before it, such as sep=;" : "";
    return `the cells are separated by ${name}; save the sheet with commas${orName}`;
  }
  return undefined;
}

export const faultProblem = ({ code, rest }: NonNullable<SheetRecord["fault"]>): RowProblem => ({
  code,
  detail: rest === "" ? undefined : foundText(rest),
});

export const isBlank = (cell: string): boolean => cell.trim() === "";
