/** A spreadsheet of Google Sheets as a source of rows: each of its tabs is a file. */
import type { sheets_v4 } from "@googleapis/sheets";
import { stringify } from "csv-stringify/sync";
import { DomainError } from "../../../domain/errors.ts";
import { maxRows } from "../../../domain/sheet.ts";
import type { DefinitionOf } from "../definitions.ts";
import type { Source, SourceFile } from "../source.ts";
import { answerOf, readServiceAccountKey, sheetsScope, signIn } from "./auth.ts";
import { checkVersion } from "./check-version.ts";
import { type SpreadsheetRef, tabNamed, tabRange } from "./tabs.ts";
import { writeFailedRows } from "./write-failed-rows.ts";

type Definition = Pick<DefinitionOf<"sheet">, "spreadsheet_id" | "key_file" | "endpoint">;

/** So many rows are turned into CSV at a time. */
const rowsPerChunk = 5_000;
/** A number of more digits than this was rounded by Google Sheets. */
const maxExact = 10 ** 15;

/**
 * Opens a spreadsheet. A path is the title of a tab. Nothing is ever moved there, and its tabs are
 * not picked up, because a person may still write in one. Throws when the key file cannot be used;
 * does not call Google yet.
 */
export function createSheetSource({ spreadsheet_id, key_file, endpoint }: Definition): Source {
  const key = readServiceAccountKey(key_file);
  const connect = async (): Promise<SpreadsheetRef> => {
    const { auth, sheets } = await import("@googleapis/sheets");
    const account = signIn(auth.JWT, key, sheetsScope);
    const rootUrl = endpoint === undefined ? {} : { rootUrl: endpoint };
    const api = sheets({ version: "v4", auth: account, ...rootUrl });
    return { api, spreadsheetId: spreadsheet_id };
  };
  let connected: Promise<SpreadsheetRef> | undefined;
  const spreadsheet = () => {
    connected ??= connect();
    return connected;
  };
  return {
    open: async (file) => openTab(await spreadsheet(), file),
    listNew: async () => ({ items: [] }),
    move: async () => {},
    async writeFailures(_, of, failures) {
      await writeFailedRows(await spreadsheet(), of, failures);
    },
    urlOf: () => `https://docs.google.com/spreadsheets/d/${spreadsheet_id}/edit`,
  };
}

/**
 * Reads the rows of a tab in one request, so that nobody can insert or delete rows between two
 * halves. Values come unformatted: a cell that shows 1,000 has the points 1000.
 */
async function openTab(
  spreadsheet: SpreadsheetRef,
  file: SourceFile,
): Promise<AsyncIterable<Uint8Array>> {
  const tab = await tabNamed(spreadsheet, file.path);
  if (!tab) throw new DomainError("INVALID_REQUEST", `the spreadsheet has no tab ${file.path}`);
  // A header, all rows that are allowed, and one more, which shows that there are too many.
  const lastRow = Math.min(tab.rowCount, maxRows + 2);
  const params: sheets_v4.Params$Resource$Spreadsheets$Values$Get = {
    spreadsheetId: spreadsheet.spreadsheetId,
    range: tabRange(file.path, { firstRow: 1, lastRow, columns: tab.columnCount }),
    majorDimension: "ROWS",
    valueRenderOption: "UNFORMATTED_VALUE",
    dateTimeRenderOption: "FORMATTED_STRING",
  };
  const { values } = await answerOf(spreadsheet.api.spreadsheets.values.get(params));
  return checkVersion(toCsv(values ?? []), file);
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
  }
}

/** The text of a cell: of a text, a number or a truth value. */
function textOf(value: unknown): string {
  // The blank makes it malformed as a user and as points, which another user's id would not be.
  if (typeof value === "number" && Math.abs(value) >= maxExact) return `${value} (rounded)`;
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  return String(value ?? "").replace(/\s*[\r\n]+\s*/g, " ");
}
