/** The use case that checks a sheet and keeps nothing. */

import { DomainError } from "../../platform/words/errors.ts";
import { plain } from "../../platform/words/text-style.ts";
import type { Points } from "../../platform/words/units.ts";
import { getBulkRules } from "../../points/use-cases/programs/queries.ts";
import { checkExecuteTime } from "../../reservations/rules/reservation.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkContentRef } from "../ports/records.ts";
import { problemText, rowsPerBlock, type SheetRow } from "../rules/sheet.ts";
import type { SheetReading } from "../rules/sheet-reading.ts";
import { type SheetWarning, sheetWarningText } from "../rules/sheet-warning.ts";
import { someUsers } from "./program-users.ts";
import { readRows, type SheetContent } from "./read-rows.ts";
import type { ReadingOptions, SheetReport } from "./read-sheet.ts";
import { createRowsDigest } from "./rows-digest.ts";
import { sheetError } from "./sheet-error.ts";
import { createSheetWarnings } from "./sheet-warnings.ts";
import type { Submission } from "./submit.ts";
import { checkBlock, countRows } from "./validate-blocks.ts";

/** A problem of a row, or of the whole sheet. */
interface SheetFinding {
  /** 0 for the sum of all rows, and for a warning that is refused. */
  readonly line: number;
  /** Empty for a problem of the whole sheet. */
  readonly userId: string;
  /** A `RowCode`, a `SheetCode`, TOTAL_ABOVE_CAP or WARNING_REFUSED. */
  readonly code: string;
  readonly message: string;
}

/** The result of a check. */
export interface SheetCheck {
  readonly rowCount: number;
  /** The sum over all rows without a problem of their own. */
  readonly totalPoints: Points;
  readonly invalidCount: number;
  readonly alreadyGrantedCount: number;
  /** The digest that a revision with these rows has. */
  readonly rowsDigest: string;
  /** The rows whose user id had blanks around it, which are taken away. */
  readonly trimmedUserIdCount: number;
  readonly problemCounts: Readonly<Record<string, number>>;
  /** The first 1,000. */
  readonly problems: readonly SheetFinding[];
  readonly warnings: readonly SheetWarning[];
  /** Another bulk grant of the program with the same rows. */
  readonly sameContentBulkGrantId?: string | undefined;
  /** How the sheet was understood; absent for rows without one, and when it cannot be read. */
  readonly reading?: SheetReading | undefined;
}

/** Further problems are counted, but not named. */
const maxProblems = 1_000;

/**
 * Checks rows as their submission and the validation after it do, block by block. A sheet that
 * cannot be read is a problem of the check. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST as
 * `checkExecuteTime`.
 */
export async function checkSheet(
  deps: Pick<Deps, "reader" | "clock">,
  name: Pick<Submission, "programId" | "bulkGrantId" | "executeTime" | "expireMonth"> &
    ReadingOptions,
  content: SheetContent,
): Promise<SheetCheck> {
  const { programId, bulkGrantId, executeTime, expireMonth, encoding, skipZero } = name;
  const rules = await getBulkRules(deps, programId);
  const { maxTotalPoints, refusedWarnings, maxPointsPerRow, userIdPattern } = rules;
  if (executeTime !== undefined) checkExecuteTime(executeTime, (await deps.clock.now()).wall);
  const findings = createFindings();
  const digest = createRowsDigest();
  const collector = createSheetWarnings();
  let [rowCount, totalPoints, invalidCount, alreadyGrantedCount, trimmedUserIdCount] = [
    0, 0, 0, 0, 0,
  ];
  const report: SheetReport = {
    onHeader(problem) {
      findings.add(sheetProblem(sheetError("csv", problem)));
    },
    onTrimmed() {
      trimmedUserIdCount += 1;
    },
  };

  async function check(block: readonly SheetRow[]): Promise<void> {
    const found = await checkBlock(deps, name, block);
    for (const { index, ...problem } of found.problems) {
      const { line, userId } = block[index] as SheetRow;
      findings.add({ line, userId, code: problem.code, message: problemText(problem) });
    }
    const withoutAccount = new Set(found.withoutAccount);
    for (const [index, row] of block.entries()) {
      digest.add(row);
      collector.add(row, !withoutAccount.has(index));
      if (!row.problems) totalPoints += row.points;
    }
    rowCount += block.length;
    invalidCount += countRows(found.problems);
    alreadyGrantedCount += found.alreadyGranted.length;
  }

  let reading: SheetReading | undefined;
  const onReading = (read: SheetReading) => {
    reading = read;
  };
  const options = { expireMonth, encoding, skipZero, report, onReading };
  const rows = readRows(content, { bulkGrantId, maxPointsPerRow, userIdPattern, ...options });
  const problem = await readBlocks(rows, check);
  if (problem) findings.add(problem);
  if (totalPoints > maxTotalPoints) {
    const message = `the sum is ${totalPoints}, and the program allows at most ${maxTotalPoints}`;
    findings.add({ line: 0, userId: "", code: "TOTAL_ABOVE_CAP", message });
  }
  const warnings = await collector.result(() => someUsers(deps, programId));
  for (const warning of warnings.filter(({ code }) => refusedWarnings.includes(code))) {
    const message = `the program refuses this warning: ${sheetWarningText(warning, plain)}`;
    findings.add({ line: 0, userId: "", code: "WARNING_REFUSED", message });
  }
  const rowsDigest = digest.digest();
  const [first] = await deps.reader.many([bulkContentRef(programId, rowsDigest)]);
  return {
    rowsDigest,
    rowCount,
    totalPoints,
    invalidCount,
    alreadyGrantedCount,
    trimmedUserIdCount,
    warnings,
    ...findings.result(),
    ...(first &&
      first.bulkGrantId !== bulkGrantId && { sameContentBulkGrantId: first.bulkGrantId }),
    reading,
  };
}

/** Reads rows in blocks. Returns the problem of a sheet that cannot be read to its end. */
async function readBlocks(
  rows: AsyncIterable<SheetRow>,
  check: (block: readonly SheetRow[]) => Promise<void>,
): Promise<SheetFinding | undefined> {
  let block: SheetRow[] = [];
  let problem: SheetFinding | undefined;
  try {
    for await (const row of rows) {
      block.push(row);
      if (block.length < rowsPerBlock) continue;
      await check(block);
      block = [];
    }
  } catch (error) {
    problem = sheetProblem(error);
  }
  if (block.length > 0) await check(block);
  return problem;
}

/** The problem of a sheet that cannot be read; throws any other error. */
function sheetProblem(error: unknown): SheetFinding {
  const { code, line } = error instanceof DomainError ? error.metadata : {};
  if (!(error instanceof DomainError) || code === undefined) throw error;
  return { line: Number(line), userId: "", code, message: error.message };
}

/** Counts all problems by code, and keeps the first ones. */
function createFindings() {
  const problemCounts: Record<string, number> = {};
  const problems: SheetFinding[] = [];
  return {
    add(finding: SheetFinding): void {
      problemCounts[finding.code] = (problemCounts[finding.code] ?? 0) + 1;
      if (problems.length < maxProblems) problems.push(finding);
    },
    result: () => ({ problemCounts, problems }),
  };
}
