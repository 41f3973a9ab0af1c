/** Reads the rows of a tab of a spreadsheet, as CSV. */
import { setImmediate } from "node:timers/promises";
import type { sheets_v4 } from "@googleapis/sheets";
import { stringify } from "csv-stringify/sync";
import { maxRows } from "../rules/sheet.ts";
import { answerOf } from "./auth.ts";
import { type SpreadsheetRef, type Tab, tabRange } from "./tabs.ts";

/** So many rows are turned into CSV at a time, before other work gets its turn. */
const rowsPerChunk = 250;
/** A number of more digits than this was rounded by Google Sheets. */
const maxExact = 10 ** 15;

/**
 * Reads the rows of a tab in one request, so that nobody can insert or delete rows between two
 * halves. Values come unformatted: a cell that shows 1,000 has the points 1000. Returns what yields
 * their bytes in CSV, each time from the beginning.
 */
export async function readTab(
  { api, spreadsheetId }: SpreadsheetRef,
  { title, rowCount, columnCount }: Tab,
): Promise<() => AsyncIterable<Uint8Array>> {
  // A header, all rows that are allowed, and one more, which shows that there are too many.
  const lastRow = Math.min(rowCount, maxRows + 2);
  const params: sheets_v4.Params$Resource$Spreadsheets$Values$Get = {
    spreadsheetId,
    range: tabRange(title, { firstRow: 1, lastRow, columns: columnCount }),
    majorDimension: "ROWS",
    valueRenderOption: "UNFORMATTED_VALUE",
    dateTimeRenderOption: "FORMATTED_STRING",
    prettyPrint: false,
  };
  const { values } = await answerOf(api.spreadsheets.values.get(params));
  return () => toCsv(values ?? []);
}

/**
 * Writes rows as CSV in UTF-8, each on one line, so that the line of an error is the row in the
 * tab. Google leaves out the empty cells at the end of a row; they are added again up to the width
 * of the header.
 */
async function* toCsv(rows: readonly (readonly unknown[])[]): AsyncGenerator<Uint8Array> {
  const width = rows[0]?.length ?? 0;
  for (let from = 0; from < rows.length; from += rowsPerChunk) {
    const lines = rows.slice(from, from + rowsPerChunk).map((row) => {
      const cells = row.map(textOf);
      // Rows with formulas that show nothing are empty for people, so they are empty lines.
      if (cells.every((cell) => cell === "")) return [];
      return [...cells, ...Array<string>(Math.max(0, width - cells.length)).fill("")];
    });
    yield Buffer.from(stringify(lines));
    await setImmediate();
  }
}

/** The text of a cell: of a text, a number or a truth value. */
function textOf(value: unknown): string {
  // The blank makes it malformed as a user and as points, which another user's id would not be.
  if (typeof value === "number" && Math.abs(value) >= maxExact) return `${value} (rounded)`;
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  return String(value ?? "").replace(/\s*[\r\n]+\s*/g, " ");
}
