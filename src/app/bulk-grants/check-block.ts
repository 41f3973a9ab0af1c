/** Compares a block of rows with the store. */
import type { BulkGrantName } from "../../domain/bulk-grant.ts";
import type { SheetRow } from "../../domain/sheet.ts";
import type { BlockCheck } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { accountRef } from "../ports/records.ts";
import { rowEventKey } from "./execute-row.ts";

/** What the rows of one block are checked for. */
type CheckedSheet = BulkGrantName & { readonly reversedBulkGrantId?: string | undefined };

/** What a check has found, without the revision to which the rows belong. */
type FoundInBlock = Omit<BlockCheck, "revision">;

/**
 * Checks rows: their own problems, whether this bulk grant has granted them before, and whether
 * their accounts are frozen. A row that was granted before with other points is a problem.
 */
export async function checkBlock(
  { reader }: Pick<Deps, "reader">,
  { programId, bulkGrantId, reversedBulkGrantId }: CheckedSheet,
  rows: readonly SheetRow[],
): Promise<FoundInBlock> {
  const valid = rows.flatMap((row, index) => (row.problem ? [] : [{ row, index }]));
  const [events, accounts] = await Promise.all([
    reader.many(valid.map(({ row }) => rowEventKey(programId, bulkGrantId, row.userId))),
    reader.many(valid.map(({ row }) => accountRef(programId, row.userId))),
  ]);
  const alreadyGranted: number[] = [];
  let alreadyGrantedPoints = 0;
  const problems = [...ownProblems(rows).problems];
  for (const [i, { row, index }] of valid.entries()) {
    const points = events[i]?.entry.points;
    if (points !== undefined && (points === row.points || reversedBulkGrantId !== undefined)) {
      alreadyGranted.push(index);
      alreadyGrantedPoints += points;
    } else if (points !== undefined) {
      problems.push({ index, code: "ID_REUSED", detail: String(points) });
    } else if (accounts[i]?.frozen && reversedBulkGrantId === undefined) {
      problems.push({ index, code: "ACCOUNT_FROZEN" });
    }
  }
  problems.sort((a, b) => a.index - b.index);
  return { alreadyGranted, alreadyGrantedPoints, problems };
}

/** Returns the problems that rows have by themselves, without the store. */
export const ownProblems = (rows: readonly SheetRow[]): FoundInBlock => ({
  alreadyGranted: [],
  alreadyGrantedPoints: 0,
  problems: rows.flatMap(({ problem }, index) => (problem ? [{ index, ...problem }] : [])),
});
