/** Finds the first rows of a bulk grant that are invalid or have failed, and counts the invalid. */

import { allPages, type Page, type PageRequest } from "../../platform/ports/pages.ts";
import type { BlockProblem, Numbered } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import type { BulkGrant } from "../rules/bulk-grant.ts";
import { maxSheetBlocks, type RowCode } from "../rules/sheet.ts";

/** A row by its line in the sheet, and what is wrong with it. Nothing in it is personal. */
export interface FailedLine {
  readonly line: number;
  readonly codes: readonly RowCode[];
}

/** How many rows have each code. */
export type ProblemCounts = Readonly<Partial<Record<RowCode, number>>>;

type FailedBlock = Numbered<{ readonly failures: readonly BlockProblem[] }>;

/**
 * Returns the first `limit` rows of the current revision that are invalid, or that the runs so far
 * have tried and not granted. Reads what is stored of all blocks, and of the rows only those found.
 */
export async function firstFailures(
  { reader }: Pick<Deps, "reader">,
  { state, revision: { uploadId } }: BulkGrant,
  limit: number,
): Promise<FailedLine[]> {
  const read = async (page: PageRequest): Promise<Page<FailedBlock>> => {
    if (state !== "INVALID") return reader.blockOutcomes(uploadId, page);
    const { items, ...rest } = await reader.blockChecks(uploadId, page);
    return { ...rest, items: items.map(({ block, problems: failures }) => ({ block, failures })) };
  };
  const found: FailedLine[] = [];
  for await (const blocks of allPages(maxSheetBlocks, read)) {
    for (const { block, failures } of blocks) {
      const codes = codesByIndex(failures);
      if (codes.size === 0) continue;
      const rows = await reader.rowsOfBlock(uploadId, block);
      for (const [index, of] of codes) found.push({ line: rows[index]?.line ?? 0, codes: of });
      if (found.length >= limit) return found.slice(0, limit);
    }
  }
  return found;
}

/** Counts the invalid rows of the current revision by their codes. A row may have several. */
export async function countInvalid(
  { reader }: Pick<Deps, "reader">,
  { revision: { uploadId } }: BulkGrant,
): Promise<ProblemCounts> {
  const counts: Partial<Record<RowCode, number>> = {};
  const read = (page: PageRequest) => reader.blockChecks(uploadId, page);
  for await (const checks of allPages(maxSheetBlocks, read)) {
    for (const code of checks.flatMap(({ problems }) => problems.map((each) => each.code))) {
      counts[code] = (counts[code] ?? 0) + 1;
    }
  }
  return counts;
}

/** A row that was not run has not failed. */
function codesByIndex(failures: readonly BlockProblem[]): ReadonlyMap<number, readonly RowCode[]> {
  const tried = failures.filter(({ code }) => code !== "NOT_RUN");
  const byIndex = Map.groupBy(tried, ({ index }) => index);
  return new Map([...byIndex].map(([index, of]) => [index, of.map(({ code }) => code)]));
}
