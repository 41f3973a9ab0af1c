/** Writes failed rows as a sheet that can be corrected and sent again. */
import { stringify } from "csv-stringify/sync";
import { problemText } from "../../domain/sheet.ts";
import type { FailedRow } from "../ports/bulk-grants.ts";
import { neutraliseCell } from "./formula-cells.ts";

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
const rowsPerPiece = 250;

/**
 * Yields a sheet in CSV that `readSheet` reads back with the same values: UTF-8 with a BOM, without
 * which Excel takes the text for Shift_JIS. Cells that start like a formula are neutralised.
 */
export async function* writeSheet(
  rows: AsyncIterable<FailedRow>,
  name: { readonly bulkGrantId: string; readonly revision: number },
): AsyncGenerator<string> {
  yield `\ufeff${csvOf([header])}`;
  let lines: string[][] = [];
  for await (const { row, problem } of rows) {
    lines.push([
      row.userId,
      row.rawPoints ?? String(row.points),
      row.reason,
      name.bulkGrantId,
      String(name.revision),
      String(row.line),
      problem.code,
      problemText(problem),
    ]);
    if (lines.length < rowsPerPiece) continue;
    yield csvOf(lines);
    lines = [];
  }
  if (lines.length > 0) yield csvOf(lines);
}

// Every cell is quoted: programs differ in which characters end a cell or a line without quotes.
const csvOf = (lines: readonly (readonly string[])[]): string =>
  stringify(
    lines.map((cells) => cells.map(neutraliseCell)),
    { record_delimiter: "\r\n", quoted: true, quoted_empty: true },
  );
