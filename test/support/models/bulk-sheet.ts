/** A sheet in which some rows are bad, one after another in every way, and what an export shows. */
import { parse } from "csv-parse/sync";
import { expect } from "vitest";
import type { RowCode } from "../../../src/bulk-grants/rules/sheet.ts";

/** The most points of one row in the program of these sheets. */
export const maxPointsPerRow = 1_000;

/** A row as it should be, and as it is in the first sheet. */
export interface PlannedRow {
  readonly userId: string;
  readonly points: number;
  /** The cells of the row without its faults. */
  readonly cells: readonly string[];
  /** The cells of the row in the first sheet. */
  readonly firstCells: readonly string[];
  /** What is wrong with the row in the first sheet. */
  readonly code?: RowCode;
}

/** Makes a row bad; `before` is the user of the row before. */
type Fault = (cells: readonly string[], before: string) => readonly string[];

const withCell =
  (index: number, value: (before: string) => string): Fault =>
  (cells, before) =>
    cells.with(index, value(before));

/** Every fault that a first sheet can have, by its code. The account is frozen by the test. */
const faults = {
  USER_MISSING: withCell(0, () => ""),
  USER_MALFORMED: withCell(0, () => "会員1"),
  POINTS_MISSING: withCell(1, () => ""),
  POINTS_MALFORMED: withCell(1, () => "1.5"),
  POINTS_ABOVE_CAP: withCell(1, () => String(maxPointsPerRow + 1)),
  REASON_TOO_LONG: withCell(2, () => "あ".repeat(43)),
  REASON_MALFORMED: withCell(2, () => "夏\n祭り"),
  COLUMNS_DIFFER: (cells) => [...cells, "one more"],
  USER_TWICE: withCell(0, (before) => before),
  OTHER_BULK_GRANT: withCell(3, () => "another-campaign"),
  ACCOUNT_FROZEN: (cells) => cells,
} as const satisfies Partial<Record<RowCode, Fault>>;

const codes = Object.keys(faults) as (keyof typeof faults)[];

/** Of so many rows one is bad: 3 %. */
const badEvery = 33;

/** Plans the rows of a sheet; users are `<id>-0`, `<id>-1` and so on. */
export function planRows(id: string, count: number): PlannedRow[] {
  return Array.from({ length: count }, (_, i) => {
    const userId = `${id}-${i}`;
    const points = 1 + (i % 50);
    const cells = [userId, String(points), '=夏,"祭り"', ""];
    if (i % badEvery !== badEvery - 1) return { userId, points, cells, firstCells: cells };
    const code = codes[Math.floor(i / badEvery) % codes.length] as keyof typeof faults;
    const firstCells = faults[code](cells, `${id}-${i - 1}`);
    return { userId, points, cells, firstCells, code };
  });
}

/** Writes a sheet, as a spreadsheet program does. */
export const sheetOf = (rows: readonly (readonly string[])[]): string =>
  [["user_id", "points", "reason", "bulk_grant_id"], ...rows]
    .map((cells) => `${cells.map(quoted).join(",")}\r\n`)
    .join("");

const quoted = (cell: string) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/** A row of an export without its message: user_id, points, reason, line and error_code. */
type ExportedRow = readonly string[];

/** The rows of an export. Each of them names the bulk grant, its revision and what is wrong. */
export function parseExport(
  csv: Uint8Array,
  expected: { readonly bulkGrantId: string; readonly revision: number },
): ExportedRow[] {
  const rows: Readonly<Record<string, string>>[] = parse(Buffer.from(csv), {
    bom: true,
    columns: true,
  });
  return rows.map((row) => {
    const { user_id = "", points = "", reason = "", line = "", error_code = "" } = row;
    expect(row).toMatchObject({
      bulk_grant_id: expected.bulkGrantId,
      revision: String(expected.revision),
      error: expect.stringMatching(/./),
    });
    return [user_id, points, reason, line, error_code];
  });
}

/** What an export shows of the `index`-th row of a sheet, which has these cells. */
export const exportedRow = (
  index: number,
  [userId = "", points = "", reason = ""]: readonly string[],
  code: RowCode,
): ExportedRow => [userId, points, neutralised(reason), String(index + 2), code];

/** As no spreadsheet program takes it for a formula. */
const neutralised = (cell: string) => (cell.startsWith("=") ? `'${cell}` : cell);
