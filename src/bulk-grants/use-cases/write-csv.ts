/** Writes CSV that spreadsheet programs read with the same values. */
import { stringify } from "csv-stringify/sync";
import type { SheetCells } from "../ports/bulk-grants.ts";
import { neutraliseCell } from "./formula-cells.ts";

const rowsPerChunk = 250;

/**
 * Yields CSV in UTF-8 with a BOM, without which Excel takes the text for Shift_JIS. Cells that
 * start like a formula are neutralised.
 */
export async function* writeCsv(rows: AsyncIterable<SheetCells>): AsyncGenerator<string> {
  yield "\ufeff";
  let lines: SheetCells[] = [];
  for await (const cells of rows) {
    lines.push(cells);
    if (lines.length < rowsPerChunk) continue;
    yield csvOf(lines);
    lines = [];
  }
  if (lines.length > 0) yield csvOf(lines);
}

// Every cell is quoted: programs differ in which characters end a cell or a line without quotes.
const csvOf = (lines: readonly SheetCells[]): string =>
  stringify(
    lines.map((cells) => cells.map((cell) => neutraliseCell(String(cell)))),
    { record_delimiter: "\r\n", quoted: true, quoted_empty: true },
  );
