/** Reads a block of rows with what the validation has found in it, and what a run has done. */

import type { BlockCheck, BlockOutcome } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { blockCheckRef, blockOutcomeRef } from "../ports/records.ts";
import type { SheetRow } from "../rules/sheet.ts";

/** A block as it is stored. */
interface StoredBlock {
  readonly rows: readonly SheetRow[];
  /** Undefined before the validation. */
  readonly check: BlockCheck | undefined;
  /** Undefined before a run has executed the block. */
  readonly outcome: BlockOutcome | undefined;
}

export async function readStoredBlock(
  { reader }: Pick<Deps, "reader">,
  uploadId: string,
  block: number,
): Promise<StoredBlock> {
  const [rows, [check], [outcome]] = await Promise.all([
    reader.rowsOfBlock(uploadId, block),
    reader.many([blockCheckRef(uploadId, block)]),
    reader.many([blockOutcomeRef(uploadId, block)]),
  ]);
  return { rows, check, outcome };
}
