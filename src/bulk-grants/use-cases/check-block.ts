/** Compares a block of rows with the store. */

import { type Instant, type Month, monthAt } from "../../platform/words/month.ts";
import { isSameRequest } from "../../platform/work/idempotency.ts";
import { accountRef } from "../../points/ports/records.ts";
import { whyImpossible } from "../../points/rules/early-expiry.ts";
import { lifetimeAt } from "../../points/rules/program.ts";
import { getProgram } from "../../points/use-cases/programs/queries.ts";
import type { BlockCheck, BlockProblem } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import type { BulkGrantName } from "../rules/bulk-grant.ts";
import { expireMonthOf, type SheetRow } from "../rules/sheet.ts";
import { idForm } from "./check-row.ts";
import { hashOfRow, rowEventKey } from "./execute-row.ts";

/** What the rows of one block are checked for. */
type CheckedSheet = BulkGrantName & {
  readonly reversedBulkGrantId?: string | undefined;
  readonly executeTime?: Instant | undefined;
  readonly expireMonth?: Month | undefined;
};

/** What a check has found, without the revision to which the rows belong. */
type FoundInBlock = Omit<BlockCheck, "revision">;

/**
 * Checks rows: their own problems, whether this bulk grant has granted them before, whether points
 * can expire at their month, and whether their accounts are frozen. A row that was granted before
 * with other points or another month is a problem. Rows that are wrong by themselves are compared,
 * too, as far as their users and points are right.
 */
export async function checkBlock(
  deps: Pick<Deps, "reader" | "clock">,
  sheet: CheckedSheet,
  rows: readonly SheetRow[],
): Promise<FoundInBlock> {
  const { reader } = deps;
  const { programId, bulkGrantId, reversedBulkGrantId } = sheet;
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
  const monthProblem = await createMonthCheck(deps, sheet, rows);
  for (const [i, { row, index }] of named.entries()) {
    const event = events[i];
    const points = event?.entry.points;
    const isSame =
      event && (isReversal || row.problems || isSameRequest(event.hash, hashOfRow(row, sheet)));
    if (points !== undefined && (points === row.points || isReversal) && isSame) {
      if (row.problems) continue;
      alreadyGranted.push(index);
      alreadyGrantedPoints += points;
      continue;
    }
    if (points !== undefined && row.points > 0) {
      found.push(
        points === row.points
          ? { index, code: "MONTH_DIFFERS" }
          : { index, code: "ID_REUSED", detail: String(points) },
      );
    }
    const detail = monthProblem(row);
    if (detail) found.push({ index, code: "MONTH_OUT_OF_RANGE", detail });
    if (accounts[i]?.frozen && !isReversal) found.push({ index, code: "ACCOUNT_FROZEN" });
  }
  const problems = found.toSorted((a, b) => a.index - b.index);
  return { alreadyGranted, alreadyGrantedPoints, withoutAccountCount, frozenCount, problems };
}

/**
 * Returns a function that says why the points of a row cannot expire at its month, when they are
 * granted at the execute time or, if that is earlier, now. The program is read only for rows with
 * months. The run decides again.
 */
async function createMonthCheck(
  deps: Pick<Deps, "reader" | "clock">,
  sheet: CheckedSheet,
  rows: readonly SheetRow[],
): Promise<(row: SheetRow) => string | undefined> {
  const hasMonths = sheet.expireMonth !== undefined || rows.some(({ expireMonth }) => expireMonth);
  if (!hasMonths) return () => undefined;
  const program = await getProgram(deps, sheet.programId);
  const { calendar } = await deps.clock.now();
  const due = Math.max(sheet.executeTime ?? calendar, calendar);
  const [current, lifetime] = [monthAt(program.timeZone, due), lifetimeAt(program, due)];
  return (row) => {
    if (row.problems?.some(({ code }) => code === "MONTH_MALFORMED")) return undefined;
    return whyImpossible(current, lifetime, { expireMonth: expireMonthOf(row, sheet) });
  };
}

/** The number of rows that have the problems. */
export const countRows = (problems: readonly BlockProblem[]): number =>
  new Set(problems.map(({ index }) => index)).size;
