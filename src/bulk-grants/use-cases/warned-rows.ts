/** Counts the rows that a warning is about. */

import { cutToBytes } from "../../platform/words/display-text.ts";
import type { SheetRow } from "../rules/sheet.ts";
import { maxWarnedLines, type SheetWarning } from "../rules/sheet-warning.ts";

/** The rows that a warning is about. */
export type WarnedRows = Omit<SheetWarning, "code">;

/** An example in a warning is cut to this many bytes. */
const maxExampleBytes = 64;

/** Counts rows, and keeps the first lines and the first example. */
export function createWarnedRows() {
  const lines: number[] = [];
  let rowCount = 0;
  let detail = "";
  return {
    add({ line }: Pick<SheetRow, "line">, example = ""): void {
      if (rowCount === 0) detail = cutToBytes(example, maxExampleBytes);
      rowCount += 1;
      if (lines.length < maxWarnedLines) lines.push(line);
    },
    result: (): WarnedRows => ({ rowCount, lines, detail }),
  };
}

/** Adds up rows; the example is that of the rows that begin first. */
export function joinedRows(all: readonly WarnedRows[]): WarnedRows {
  const found = all
    .filter(({ rowCount }) => rowCount > 0)
    .toSorted((a, b) => (a.lines[0] ?? 0) - (b.lines[0] ?? 0));
  const lines = found.flatMap((each) => each.lines).sort((a, b) => a - b);
  return {
    rowCount: found.reduce((sum, each) => sum + each.rowCount, 0),
    lines: lines.slice(0, maxWarnedLines),
    detail: found[0]?.detail ?? "",
  };
}
