/** The tabs of a spreadsheet: how they are found, and how their cells are addressed. */
import type { sheets_v4 } from "@googleapis/sheets";
import { answerOf } from "./auth.ts";

/** A spreadsheet, with the client that reads and writes it. */
export interface SpreadsheetRef {
  readonly api: sheets_v4.Sheets;
  readonly spreadsheetId: string;
}

/** A tab, with the size of its grid. */
interface Tab {
  readonly sheetId: number;
  readonly rowCount: number;
  readonly columnCount: number;
}

/** Finds a tab by its title; undefined when there is none, or when it shows a chart. */
export async function tabNamed(
  { api, spreadsheetId }: SpreadsheetRef,
  title: string,
): Promise<Tab | undefined> {
  const fields = "sheets.properties(sheetId,title,gridProperties(rowCount,columnCount))";
  const { sheets } = await answerOf(api.spreadsheets.get({ spreadsheetId, fields }));
  const found = sheets?.find(({ properties }) => properties?.title === title)?.properties;
  const { rowCount, columnCount } = found?.gridProperties ?? {};
  if (!rowCount || !columnCount) return undefined;
  return { sheetId: found?.sheetId ?? 0, rowCount, columnCount };
}

/** A range from the first column on, in R1C1 notation. Rows and columns count from 1. */
export function tabRange(
  title: string,
  range: { readonly firstRow: number; readonly lastRow: number; readonly columns: number },
): string {
  const { firstRow, lastRow, columns } = range;
  return `'${title.replaceAll("'", "''")}'!R${firstRow}C1:R${lastRow}C${columns}`;
}
