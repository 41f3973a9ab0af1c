/** Writes what is wrong with a sheet to a new tab of a spreadsheet. */
import { versionOfText } from "../../platform/objects/paths.ts";
import { cutToBytes } from "../../platform/words/display-text.ts";
import type { ErrorSheet, SheetCells } from "../ports/bulk-grants.ts";
import type { SheetAddress } from "../rules/bulk-grant.ts";
import { answerOf } from "./auth.ts";
import { type SpreadsheetRef, spreadsheetUrl, tabNamed, tabRange } from "./tabs.ts";

/** So many rows are written by one request: about 1 MB, as Google recommends up to 2 MB. */
const rowsPerRequest = 5_000;

/** A new tab, as small as Google makes one; it grows with its rows. */
const smallestGrid = { rowCount: 1, columnCount: 1 };

/**
 * Writes the rows to the tab of the sheet's title, and returns where it is. A tab of this title is
 * replaced, so the call may be repeated. Each request names the new tab by its id or sets the same
 * cells to the same values, so a call that is superseded by its repetition does not spoil the new
 * tab.
 */
export async function writeTab(
  spreadsheet: SpreadsheetRef,
  { title: whole, rows }: ErrorSheet,
): Promise<SheetAddress> {
  const title = tabTitle(whole);
  const sheetId = await replaceTab(spreadsheet, title);
  let written = 0;
  for await (const chunk of inChunks(rows)) {
    await addRows(spreadsheet, { title, sheetId }, written, chunk);
    written += chunk.length;
  }
  return { name: title, url: spreadsheetUrl(spreadsheet.spreadsheetId, sheetId) };
}

/** The most characters of a tab's title. */
const maxTitleLength = 100;

/** Returns a title; of one that is too long the beginning, and its hash. */
const tabTitle = (whole: string): string =>
  whole.length <= maxTitleLength ? whole : `${cutToBytes(whole, 80)}-${versionOfText(whole)}`;

async function replaceTab(spreadsheet: SpreadsheetRef, title: string): Promise<number> {
  const { api, spreadsheetId } = spreadsheet;
  const old = await tabNamed(spreadsheet, title);
  const properties = { title, gridProperties: smallestGrid };
  const answer = await answerOf(
    api.spreadsheets.batchUpdate({
      spreadsheetId,
      requestBody: {
        requests: [
          ...(old ? [{ deleteSheet: { sheetId: old.sheetId } }] : []),
          { addSheet: { properties } },
        ],
      },
    }),
  );
  return answer.replies?.at(-1)?.addSheet?.properties?.sheetId as number;
}

/** Makes room for the rows and sets their cells, as they are: RAW runs no formula. */
async function addRows(
  { api, spreadsheetId }: SpreadsheetRef,
  { title, sheetId }: { readonly title: string; readonly sheetId: number },
  written: number,
  rows: readonly SheetCells[],
): Promise<void> {
  const lastRow = written + rows.length;
  const columns = rows[0]?.length ?? 1;
  const gridProperties = { rowCount: lastRow, columnCount: columns };
  const properties = { sheetId, gridProperties };
  const fields = "gridProperties.rowCount,gridProperties.columnCount";
  await answerOf(
    api.spreadsheets.batchUpdate({
      spreadsheetId,
      requestBody: {
        requests: [{ updateSheetProperties: { properties, fields } }],
      },
    }),
  );
  await answerOf(
    api.spreadsheets.values.update({
      spreadsheetId,
      range: tabRange(title, { firstRow: written + 1, lastRow, columns }),
      valueInputOption: "RAW",
      requestBody: { values: rows.map((row) => [...row]) },
    }),
  );
}

async function* inChunks(rows: AsyncIterable<SheetCells>): AsyncGenerator<SheetCells[]> {
  let chunk: SheetCells[] = [];
  for await (const row of rows) {
    chunk.push(row);
    if (chunk.length === rowsPerRequest) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}
