/** How the bytes of a sheet were understood, for the people who check and approve it. */

import type { Month } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";

/** The encodings of a sheet, as the Encoding Standard of the WHATWG names them, and for people. */
export const encodingNames = {
  "utf-8": "UTF-8",
  "utf-16": "UTF-16",
  shift_jis: "Shift_JIS",
  "euc-jp": "EUC-JP",
  "windows-1252": "Windows-1252",
  gbk: "GBK",
  big5: "Big5",
  "euc-kr": "EUC-KR",
} as const;

export type SheetEncoding = keyof typeof encodingNames;

export const sheetEncodings = Object.keys(encodingNames) as SheetEncoding[];

/** What separates the cells of a line. */
export type Separator = "," | ";" | "\t";

/** How a sheet was understood. It follows from the sheet and from the fields of its submission. */
export interface SheetReading {
  readonly format: "CSV" | "XLSX";
  /** Of a CSV. That of a sheet whose bytes are all ASCII is UTF-8. */
  readonly encoding?: SheetEncoding | undefined;
  /** Of a CSV. */
  readonly separator?: Separator | undefined;
  /** Of a workbook: the name of the sheet on its tab. */
  readonly sheetName?: string | undefined;
  /** Of a workbook: the cells with formulas, whose stored values are read. */
  readonly formulaCount?: number | undefined;
  /** Of a workbook: the rows that are hidden or filtered out, and read like all others. */
  readonly hiddenRowCount?: number | undefined;
  /** Of a workbook: its other visible sheets, which are not read. */
  readonly otherSheetCount?: number | undefined;
  /** The columns in the order of the sheet, without those that have neither name nor content. */
  readonly columns: readonly ReadColumn[];
  /** The rows of 0 points that were left out. */
  readonly skippedZeroCount: number;
  /** A row as it will be granted; absent when no row is right in itself. */
  readonly sample?: SampleRow | undefined;
}

/** A column: its name in the sheet, cut to 64 bytes, and what it was understood as. */
export interface ReadColumn {
  readonly name: string;
  /** Absent for a column of an export, which is not read. */
  readonly readAs?: string | undefined;
}

/** A row as it will be granted. */
export interface SampleRow {
  readonly line: number;
  readonly userId: string;
  readonly points: Points;
  readonly reason: string;
  /** That of the row or else of the bulk grant; absent for the whole lifetime. */
  readonly expireMonth?: Month | undefined;
}
