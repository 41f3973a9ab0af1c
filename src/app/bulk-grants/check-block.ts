/** Compares a block of rows with the store. */
import type { BulkGrantName } from "../../domain/bulk-grant.ts";
import type { SheetRow } from "../../domain/sheet.ts";
import type { BlockCheck, BlockProblem } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { accountRef } from "../ports/records.ts";
import { idForm } from "./check-row.ts";
import { rowEventKey } from "./execute-row.ts";

/** What the rows of one block are checked for. */
type CheckedSheet = BulkGrantName & { readonly reversedBulkGrantId?: string | undefined };

/** What a check has found, without the revision to which the rows belong. */
type FoundInBlock = Omit<BlockCheck, "revision">;

/**
 * Checks rows: their own problems, whether this bulk grant has granted them before, and whether
 * their accounts are frozen. A row that was granted before with other points is a problem. Rows
 * that are wrong by themselves are compared as well, as far as their users and points are right.
 */
export async function checkBlock(
  { reader }: Pick<Deps, "reader">,
  { programId, bulkGrantId, reversedBulkGrantId }: CheckedSheet,
  rows: readonly SheetRow[],
): Promise<FoundInBlock> {
  const isReversal = reversedBulkGrantId !== undefined;
  const named = rows.flatMap((row, index) => (idForm.test(row.userId) ? [{ row, index }] : []));
  const [events, accounts] = await Promise.all([
    reader.many(named.map(({ row }) => rowEventKey(programId, bulkGrantId, row.userId))),
    reader.many(named.map(({ row }) => accountRef(programId, row.userId))),
  ]);
  const alreadyGranted: number[] = [];
  let alreadyGrantedPoints = 0;
  const right = accounts.filter((_, i) => !named[i]?.row.problems);
  const withoutAccountCount = right.filter((account) => !account).length;
  const frozenCount = right.filter((account) => account?.frozen).length;
  const found: BlockProblem[] = rows.flatMap(({ problems = [] }, index) =>
    problems.map((problem) => ({ index, ...problem })),
  );
  for (const [i, { row, index }] of named.entries()) {
    const points = events[i]?.entry.points;
    if (points !== undefined && (points === row.points || isReversal)) {
      if (row.problems) continue;
      alreadyGranted.push(index);
      alreadyGrantedPoints += points;
      continue;
    }
    if (points !== undefined && row.points > 0) {
      found.push({ index, code: "ID_REUSED", detail: String(points) });
    }
    if (accounts[i]?.frozen && !isReversal) found.push({ index, code: "ACCOUNT_FROZEN" });
  }
  const problems = found.toSorted((a, b) => a.index - b.index);
  return { alreadyGranted, alreadyGrantedPoints, withoutAccountCount, frozenCount, problems };
}

/** The number of rows that have the problems. */
export const countRows = (problems: readonly BlockProblem[]): number =>
  new Set(problems.map(({ index }) => index)).size;
