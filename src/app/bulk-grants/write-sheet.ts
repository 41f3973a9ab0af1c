/** Writes failed rows as a sheet that can be corrected and sent again. */
import { problemCells } from "../../domain/sheet.ts";
import type { ErrorSheet, FailedRow, SheetCells } from "../ports/bulk-grants.ts";
import { writeCsv } from "./write-csv.ts";

const header = [
  "user_id",
  "points",
  "reason",
  "bulk_grant_id",
  "revision",
  "line",
  "error_code",
  "error",
];
/** The bulk grant and the revision whose rows have failed. */
interface RevisionName {
  readonly bulkGrantId: string;
  readonly revision: number;
}

/** Yields a sheet in CSV that `readSheet` reads back with the same values. */
export const writeSheet = (
  rows: AsyncIterable<FailedRow>,
  name: RevisionName,
): AsyncIterable<string> => writeCsv(cellsOf(rows, name));

/** The failed rows as a sheet that a source can have. */
export const failedRowsSheet = (rows: AsyncIterable<FailedRow>, name: RevisionName): ErrorSheet =>
  errorSheet(`failed ${name.bulkGrantId} r${name.revision}`, cellsOf(rows, name));

/** A sheet with these rows, of which the first is the header. */
export const errorSheet = (title: string, rows: AsyncIterable<SheetCells>): ErrorSheet => ({
  title,
  rows,
  csv: writeCsv(rows),
});

async function* cellsOf(
  rows: AsyncIterable<FailedRow>,
  name: RevisionName,
): AsyncGenerator<SheetCells> {
  yield header;
  for await (const { row, problems } of rows) {
    const { error_code, error } = problemCells(problems);
    yield [
      row.userId,
      row.rawPoints ?? row.points,
      row.reason,
      name.bulkGrantId,
      name.revision,
      row.line,
      error_code,
      error,
    ];
  }
}
