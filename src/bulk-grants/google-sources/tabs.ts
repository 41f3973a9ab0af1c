/** The tabs of a spreadsheet: how they are found, and how their cells and they are addressed. */
import type { sheets_v4 } from "@googleapis/sheets";
import { answerOf } from "./auth.ts";

/** A spreadsheet, with the client that reads and writes it. */
export interface SpreadsheetRef {
  readonly api: sheets_v4.Sheets;
  readonly spreadsheetId: string;
}

/** A tab, with the size of its grid. */
export interface Tab {
  readonly sheetId: number;
  readonly title: string;
  readonly rowCount: number;
  readonly columnCount: number;
}

/** Finds a tab by its title; undefined when there is none, or when it shows a chart. */
export async function tabNamed(ref: SpreadsheetRef, title: string): Promise<Tab | undefined> {
  return gridOf((await tabsOf(ref)).find((tab) => tab.title === title));
}

/** Finds the first tab that people see; undefined when it shows a chart. */
export async function firstTab(ref: SpreadsheetRef): Promise<Tab | undefined> {
  return gridOf((await tabsOf(ref)).find(({ hidden }) => !hidden));
}

async function tabsOf({
  api,
  spreadsheetId,
}: SpreadsheetRef): Promise<sheets_v4.Schema$SheetProperties[]> {
  const fields = "sheets.properties(sheetId,title,hidden,gridProperties(rowCount,columnCount))";
  const { sheets = [] } = await answerOf(api.spreadsheets.get({ spreadsheetId, fields }));
  return sheets.map(({ properties }) => properties ?? {});
}

/** Google leaves out the grid of a tab that shows a chart, and an id of 0. */
function gridOf(tab: sheets_v4.Schema$SheetProperties | undefined): Tab | undefined {
  const { sheetId, title, gridProperties } = tab ?? {};
  const { rowCount, columnCount } = gridProperties ?? {};
  if (!title || !rowCount || !columnCount) return undefined;
  return { sheetId: sheetId ?? 0, title, rowCount, columnCount };
}

/** A range from the first column on, in R1C1 notation. Rows and columns count from 1. */
export function tabRange(
  title: string,
  range: { readonly firstRow: number; readonly lastRow: number; readonly columns: number },
): string {
  const { firstRow, lastRow, columns } = range;
  return `'${title.replaceAll("'", "''")}'!R${firstRow}C1:R${lastRow}C${columns}`;
}

/** Where people find a spreadsheet, or one of its tabs. */
export const spreadsheetUrl = (spreadsheetId: string, sheetId?: number): string =>
  `https://docs.google.com/spreadsheets/d/${spreadsheetId}/edit` +
  (sheetId === undefined ? "" : `#gid=${sheetId}`);

/** The id in the address of a spreadsheet; undefined when it is that of something else. */
export const spreadsheetIdIn = (url: string): string | undefined =>
  /^https:\/\/docs\.google\.com\/(?:a\/[^/]+\/)?spreadsheets\/d\/([\w-]+)/.exec(url)?.[1];
