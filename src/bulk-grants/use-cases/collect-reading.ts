/** Collects how a sheet was understood, while its rows are read. */

import type { Month } from "../../platform/words/month.ts";
import { expireMonthOf, type SheetRow } from "../rules/sheet.ts";
import type { ReadColumn, SampleRow, SheetReading } from "../rules/sheet-reading.ts";

/** The form of a file: its format, and what belongs to the format. */
export type SheetForm = Omit<SheetReading, "columns" | "skippedZeroCount" | "sample">;

const beyondAscii = /[^\0-\x7f]/;

/**
 * Creates the collection of a sheet. The sample is the first right row whose reason is not all
 * ASCII, because a wrong encoding shows there, or else the first right row.
 */
export function createReadingCollection(
  columns: readonly ReadColumn[],
  sheet: { readonly expireMonth?: Month | undefined },
) {
  let sample: SampleRow | undefined;
  let hasTelling = false;
  let skippedZeroCount = 0;
  return {
    add(row: SheetRow): void {
      if (hasTelling || row.problems) return;
      hasTelling = beyondAscii.test(row.reason);
      if (sample && !hasTelling) return;
      const { line, userId, points, reason } = row;
      sample = { line, userId, points, reason, expireMonth: expireMonthOf(row, sheet) };
    },
    addSkippedZero(): void {
      skippedZeroCount += 1;
    },
    result: (form: SheetForm): SheetReading => ({ ...form, columns, skippedZeroCount, sample }),
  };
}
