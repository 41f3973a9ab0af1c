/** Reads all rows of a stored sheet, in parts that never stop the event loop for long. */

import { allPages } from "../../platform/ports/pages.ts";
import type { Deps } from "../ports/deps.ts";
import type { Revision } from "../rules/bulk-grant.ts";
import { maxSheetBlocks, rowsPerBlock, type SheetRow } from "../rules/sheet.ts";
import { nextTurn } from "./in-slices.ts";

/** The number of blocks that are read together. */
const readTogether = 4;

/** A row, and its number in the sheet, which starts at 0. */
interface NumberedRow {
  readonly row: SheetRow;
  readonly number: number;
}

type Sheet = Pick<Revision, "uploadId" | "rowCount">;

/** Yields all rows block by block, each block in a turn of the event loop of its own. */
export async function* storedRows(
  { reader }: Pick<Deps, "reader">,
  { uploadId, rowCount }: Sheet,
): AsyncGenerator<readonly NumberedRow[], void> {
  const end = Math.ceil(rowCount / rowsPerBlock);
  for (let from = 0; from < end; from += readTogether) {
    const blocks = Array.from({ length: Math.min(readTogether, end - from) }, (_, i) => from + i);
    const read = await Promise.all(blocks.map((block) => reader.rowsOfBlock(uploadId, block)));
    for (const [i, rows] of read.entries()) {
      await nextTurn();
      const first = (from + i) * rowsPerBlock;
      yield rows.map((row, index) => ({ row, number: first + index }));
    }
  }
}

/** Yields, block by block, the rows that are right in themselves. */
export async function* rightRows(
  deps: Pick<Deps, "reader">,
  sheet: Sheet,
): AsyncGenerator<readonly NumberedRow[], void> {
  for await (const rows of storedRows(deps, sheet)) yield rows.filter(({ row }) => !row.problems);
}

/** Yields, block by block, the rows that the runs over a revision have granted. */
export async function* grantedRows(
  deps: Pick<Deps, "reader">,
  revision: Sheet,
): AsyncGenerator<readonly NumberedRow[], void> {
  const isGranted = new Uint8Array(revision.rowCount);
  let hasOutcomes = false;
  const outcomes = allPages(maxSheetBlocks, (page) =>
    deps.reader.blockOutcomes(revision.uploadId, page),
  );
  for await (const page of outcomes) {
    for (const { block, failures } of page) {
      const first = block * rowsPerBlock;
      isGranted.fill(1, first, first + rowsPerBlock);
      for (const { index } of failures) isGranted[first + index] = 0;
      hasOutcomes = true;
    }
  }
  if (!hasOutcomes) return;
  for await (const rows of rightRows(deps, revision)) {
    yield rows.filter(({ number }) => isGranted[number] === 1);
  }
}
