/** Writes failed rows as a sheet that can be corrected and sent again. */

import { plain } from "../../platform/words/text-style.ts";
import type { ErrorSheet, FailedRow, SheetCells } from "../ports/bulk-grants.ts";
import type { Revision } from "../rules/bulk-grant.ts";
import { problemCells } from "../rules/sheet.ts";
import { type SheetWarning, sheetWarningText } from "../rules/sheet-warning.ts";
import { writeCsv } from "./write-csv.ts";

const further = ["bulk_grant_id", "revision", "line", "error_code", "error"];

/** The bulk grant and the revision whose rows have failed. */
interface FailedRevision {
  readonly bulkGrantId: string;
  readonly revision: Pick<Revision, "number" | "hasExpireMonths">;
}

/** Yields a sheet in CSV that `readSheet` reads back with the same values. */
export const writeSheet = (
  rows: AsyncIterable<FailedRow>,
  of: FailedRevision,
): AsyncIterable<string> => writeCsv(cellsOf(rows, of));

/** The failed rows as a sheet that a source can have, with the warnings of each row. */
export const failedRowsSheet = (
  rows: AsyncIterable<FailedRow>,
  of: FailedRevision,
  warnings: readonly SheetWarning[],
): ErrorSheet =>
  errorSheet(`failed ${of.bulkGrantId} r${of.revision.number}`, cellsOf(rows, of, warnings));

/** A warning in the column for errors. */
export const warningCell = (warning: SheetWarning): string =>
  `warning: ${sheetWarningText(warning, plain)}`;

/** A sheet with these rows, of which the first is the header. */
export const errorSheet = (title: string, rows: AsyncIterable<SheetCells>): ErrorSheet => ({
  title,
  rows,
  csv: writeCsv(rows),
});

async function* cellsOf(
  rows: AsyncIterable<FailedRow>,
  { bulkGrantId, revision: { number, hasExpireMonths } }: FailedRevision,
  warnings: readonly SheetWarning[] = [],
): AsyncGenerator<SheetCells> {
  const monthColumn = hasExpireMonths ? ["expire_month"] : [];
  yield ["user_id", "points", "reason", ...monthColumn, ...further];
  for await (const { row, problems } of rows) {
    const { error_code, error } = problemCells(problems);
    const codes: readonly string[] = problems.map(({ code }) => code);
    const warned = warnings.filter(
      ({ code, lines }) => lines.includes(row.line) && !codes.includes(code),
    );
    yield [
      row.userId,
      row.rawPoints ?? row.points,
      row.reason,
      ...(hasExpireMonths ? [row.expireMonth ?? ""] : []),
      bulkGrantId,
      number,
      row.line,
      [error_code, ...warned.map(({ code }) => code)].join(", "),
      [error, ...warned.map(warningCell)].join("; "),
    ];
  }
}
