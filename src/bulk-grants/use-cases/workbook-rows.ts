/** The problems of the cells of a workbook, and the names of the cells that have them. */
import { cutToBytes } from "../../platform/words/display-text.ts";
import type { RowProblem, SheetRow } from "../rules/sheet.ts";
import { columnsRead } from "./sheet-columns.ts";
import type { SheetRecord } from "./split-records.ts";
import { cellName } from "./workbook/cell-names.ts";

/** The index of each column that the sheet has, by its name. */
type Columns = ReadonlyMap<string, number>;

/** Less than of a CSV, because a block of such rows is near the limit of an item. */
const maxMalformedBytes = 128;

/** The columns of the problems whose codes begin like this. */
const columnsOfCodes: readonly (readonly [string, string])[] = [
  ["USER_", "user_id"],
  ["POINTS_", "points"],
  ["REASON_", "reason"],
  ["MONTH_", "expire_month"],
  ["OTHER_BULK_GRANT", "bulk_grant_id"],
];

const none: ReadonlyMap<number, RowProblem> = new Map();

/** The problems of the cells that are read and are not what people see, by their columns. */
export function faultsIn(
  { line, workbook }: SheetRecord,
  columns: Columns,
): ReadonlyMap<number, RowProblem> {
  if (!workbook || workbook.faults.size === 0) return none;
  const found = new Map<number, RowProblem>();
  for (const name of columnsRead) {
    const column = columns.get(name) ?? -1;
    const fault = workbook.faults.get(column);
    if (!fault || (fault.isNumber && name === "points")) continue;
    const example = name === "expire_month" ? ", such as 2026-11" : "";
    const detail = `${name}: ${fault.message}${example}`;
    found.set(column, { code: "CELL_UNREADABLE", detail, cell: cellName(column, line) });
  }
  return found;
}

/** The text of such a cell in an export, which no column takes when it is sent again. */
export const unreadText = (text: string): string => `${text} (not read)`;

/** Names the cells of the problems of a row. Its values are cut to leave room for the names. */
export function withCells(row: SheetRow, columns: Columns): SheetRow {
  const { problems } = row;
  if (!problems) return row;
  const cellOf = ({ code }: RowProblem): string | undefined => {
    const [, name = ""] = columnsOfCodes.find(([start]) => code.startsWith(start)) ?? [];
    const column = columns.get(name);
    return column === undefined ? undefined : cellName(column, row.line);
  };
  return {
    ...row,
    userId: cutToBytes(row.userId, maxMalformedBytes),
    reason: cutToBytes(row.reason, maxMalformedBytes),
    rawPoints: row.rawPoints && cutToBytes(row.rawPoints, maxMalformedBytes),
    problems: problems.map((problem) => ({ ...problem, cell: problem.cell ?? cellOf(problem) })),
  };
}
