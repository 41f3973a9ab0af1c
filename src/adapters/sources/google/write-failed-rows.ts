/** Writes the failed rows of a bulk grant and their errors to a new tab of a spreadsheet. */
import type { FailedRow } from "../../../app/ports/bulk-grants.ts";
import { problemText } from "../../../domain/sheet.ts";
import { answerOf } from "./auth.ts";
import { type SpreadsheetRef, tabNamed, tabRange } from "./tabs.ts";

/** So many rows are written by one request: about 1 MB, as Google recommends up to 2 MB. */
const rowsPerRequest = 5_000;

/** The columns of the export as CSV, so that the tab can be fixed and sent again. */
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

type Row = (string | number)[];

/** A bulk grant by its id, and the revision whose rows have failed. */
interface RevisionName {
  readonly bulkGrantId: string;
  readonly revision: number;
}

/**
 * Writes the rows to the tab `failed <bulk_grant_id> r<revision>`. A tab of this title is replaced,
 * so the call may be repeated. Each request names the new tab by its id or sets the same cells to
 * the same values, so a call that is superseded by its repetition does not spoil the new tab.
 */
export async function writeFailedRows(
  spreadsheet: SpreadsheetRef,
  of: RevisionName,
  failures: AsyncIterable<FailedRow>,
): Promise<void> {
  const title = `failed ${of.bulkGrantId} r${of.revision}`;
  const sheetId = await replaceTab(spreadsheet, title);
  let written = 0;
  for await (const rows of inChunks(rowsOf(of, failures))) {
    await addRows(spreadsheet, { title, sheetId }, written, rows);
    written += rows.length;
  }
}

async function replaceTab(spreadsheet: SpreadsheetRef, title: string): Promise<number> {
  const { api, spreadsheetId } = spreadsheet;
  const old = await tabNamed(spreadsheet, title);
  const gridProperties = { rowCount: 1, columnCount: header.length };
  const answer = await answerOf(
    api.spreadsheets.batchUpdate({
      spreadsheetId,
      requestBody: {
        requests: [
          ...(old ? [{ deleteSheet: { sheetId: old.sheetId } }] : []),
          { addSheet: { properties: { title, gridProperties } } },
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
  values: Row[],
): Promise<void> {
  const lastRow = written + values.length;
  const properties = { sheetId, gridProperties: { rowCount: lastRow } };
  await answerOf(
    api.spreadsheets.batchUpdate({
      spreadsheetId,
      requestBody: {
        requests: [{ updateSheetProperties: { properties, fields: "gridProperties.rowCount" } }],
      },
    }),
  );
  await answerOf(
    api.spreadsheets.values.update({
      spreadsheetId,
      range: tabRange(title, { firstRow: written + 1, lastRow, columns: header.length }),
      valueInputOption: "RAW",
      requestBody: { values },
    }),
  );
}

async function* rowsOf(of: RevisionName, failures: AsyncIterable<FailedRow>): AsyncGenerator<Row> {
  yield header;
  for await (const { row, problem } of failures) {
    yield [
      row.userId,
      row.rawPoints ?? row.points,
      row.reason,
      of.bulkGrantId,
      of.revision,
      row.line,
      problem.code,
      problemText(problem),
    ];
  }
}

async function* inChunks(rows: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let chunk: Row[] = [];
  for await (const row of rows) {
    chunk.push(row);
    if (chunk.length === rowsPerRequest) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}
