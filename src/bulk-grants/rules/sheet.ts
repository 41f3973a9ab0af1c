/** The rows of a bulk grant's sheet, and what can be wrong with a row. */

import { withoutControls } from "../../platform/words/controls.ts";
import { type Month, parseMonth } from "../../platform/words/month.ts";
import { nounFor } from "../../platform/words/quantities.ts";
import { maxPoints, type Points } from "../../platform/words/units.ts";

/** One row of a sheet. */
export interface SheetRow {
  /** The line in the sheet: the header is line 1. Of rows without a sheet, their number plus 1. */
  readonly line: number;
  /** As in the sheet, also when it is malformed; cut to 256 bytes. */
  readonly userId: string;
  /** 0 when it is malformed. */
  readonly points: Points;
  readonly reason: string;
  /** At whose end its points expire, as in the sheet. Absent for that of the bulk grant, if any. */
  readonly expireMonth?: string | undefined;
  /** The malformed points as in the sheet, cut to 256 bytes. */
  readonly rawPoints?: string | undefined;
  /** Everything that is wrong with the row itself. Absent when nothing is. */
  readonly problems?: readonly RowProblem[] | undefined;
}

/** The month at whose end the points of a row expire; undefined for the whole lifetime. */
export const expireMonthOf = (
  row: Pick<SheetRow, "expireMonth">,
  sheet: { readonly expireMonth?: Month | undefined },
): Month | undefined =>
  row.expireMonth === undefined ? sheet.expireMonth : parseMonth(row.expireMonth);

/** Why a row cannot be granted, or was not. */
export interface RowProblem {
  readonly code: RowCode;
  /** The limit, line, points or message that the code refers to. */
  readonly detail?: string | undefined;
  /** The cell of a workbook that has it, such as `B17`. */
  readonly cell?: string | undefined;
}

const and = (found: string): string => (found === "" ? "" : `; ${found}`);

/** The problems of rows, by stable codes. The texts are for people; `detail` is inserted. */
const texts = {
  USER_MISSING: () => "user_id: is missing",
  USER_MALFORMED: (found) => `user_id: 1 to 128 visible ASCII characters without #${and(found)}`,
  POINTS_MISSING: () => "points: is missing",
  POINTS_MALFORMED: (found) => `points: a whole number of 1 to ${maxPoints}${and(found)}`,
  POINTS_ZERO: () => "points: 0 grants nothing; leave the row out, or have skip_zero leave it out",
  POINTS_ABOVE_CAP: (cap) => `points: the program allows at most ${cap} a row`,
  REASON_TOO_LONG: (bytes) => `reason: at most 128 bytes; found ${bytes}`,
  REASON_MALFORMED: (found) =>
    "reason: without control characters, bidirectional controls and private-use characters" +
    and(found),
  MONTH_MALFORMED: (found) =>
    `expire_month: a month such as 2026-11, as text; found \`${withoutControls(found)}\``,
  MONTH_OUT_OF_RANGE: (message) => `expire_month: ${message}`,
  MONTH_DIFFERS: () => "expire_month: this bulk grant has granted the row with another one",
  QUOTE_NOT_CLOSED: (found) => `a quote is opened and not closed${and(found)}`,
  CSV_MALFORMED: (found) => `a quote in a cell has to be doubled, in quotes${and(found)}`,
  LINE_TOO_LONG: () => "the line has more than 64 KiB",
  CELL_UNREADABLE: (found) => found,
  COLUMNS_DIFFER: (count) => `the row has ${count} columns, unlike the header`,
  COLUMN_UNNAMED: (column) => `column ${column} has content, and no name in the first line`,
  USER_TWICE: (line) => `user_id: is in line ${line} already`,
  OTHER_BULK_GRANT: (id) => `bulk_grant_id: the row belongs to ${id}`,
  ID_REUSED: (points) =>
    `points: ${points} ${nounFor(Number(points), "point was", "points were")} granted by this ` +
    "bulk grant before",
  ACCOUNT_FROZEN: () => "the account is frozen",
  LIMIT_EXCEEDED: (message) => message,
  LEDGER_ENTRY_NOT_FOUND: () => "there is no grant to revoke",
  CONTENDED: () => "other calls kept changing the account; the row can be tried again",
  THROTTLED: () => "the account is too busy; the row can be tried again",
  NOT_RUN: () => "the bulk grant ended before this row",
  INTERNAL: () => "unexpected error; the worker's log has it",
} as const satisfies Record<string, (detail: string) => string>;

export type RowCode = keyof typeof texts;

/** Says in words what is wrong. */
export const problemText = ({ code, detail = "", cell }: RowProblem): string =>
  `${cell === undefined ? "" : `${cell}: `}${texts[code](detail)}`;

/** Everything that is wrong with a row, as the columns of an export have it. */
export const problemCells = (problems: readonly RowProblem[]) => ({
  error_code: problems.map(({ code }) => code).join(", "),
  error: problems.map(problemText).join("; "),
});

export const isRowCode = (code: string): code is RowCode => code in texts;

/** A sheet has 1 to this many rows. */
export const maxRows = 200_000;
/** A sheet has at most this many bytes. */
export const maxSheetBytes = 32 * 2 ** 20;
/** Rows are stored and executed in blocks of this many. */
export const rowsPerBlock = 250;
/** The blocks of the largest sheet. */
export const maxSheetBlocks = maxRows / rowsPerBlock;

/** The stable codes of the problems that make a whole sheet unreadable. */
export type SheetCode =
  | "EMPTY"
  | "HEADER_MISSING"
  | "COLUMN_MISSING"
  | "COLUMN_UNKNOWN"
  | "COLUMN_TWICE"
  | "ENCODING_WRONG"
  | "NUL_BYTE"
  | "WORKBOOK_UNREADABLE"
  | "QUOTE_NOT_CLOSED"
  | "CSV_MALFORMED"
  | "LINE_TOO_LONG"
  | "TOO_MANY_ROWS"
  | "TOO_LARGE";

/** A sheet that cannot be read. */
export interface SheetProblem {
  readonly code: SheetCode;
  readonly line: number;
  readonly message: string;
}
