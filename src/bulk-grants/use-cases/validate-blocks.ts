/** Validates a sheet block by block: stores what its checks find, and ends the validation. */

import type { Transaction } from "../../platform/ports/engine.ts";
import { allPages } from "../../platform/ports/pages.ts";
import { type Instant, type Month, monthAt } from "../../platform/words/month.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import { isSameRequest } from "../../platform/work/idempotency.ts";
import { accountRef } from "../../points/ports/records.ts";
import { lifetimeAt } from "../../points/rules/account.ts";
import { approvalsFor } from "../../points/rules/bulk-rules.ts";
import { whyImpossible } from "../../points/rules/early-expiry.ts";
import { getProgram } from "../../points/use-cases/programs/queries.ts";
import type { BlockCheck, BlockProblem } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { blockCheckRef } from "../ports/records.ts";
import {
  type BulkGrant,
  type BulkGrantName,
  type CheckCounts,
  isRevocation,
  type Revision,
} from "../rules/bulk-grant.ts";
import {
  campaignPoints,
  endValidation,
  type ValidatedLimits,
} from "../rules/bulk-grant-changes.ts";
import { expireMonthOf, maxSheetBlocks, rowsPerBlock, type SheetRow } from "../rules/sheet.ts";
import type { SheetWarning } from "../rules/sheet-warning.ts";
import { approvalsWithin, tierPointsOf } from "../rules/tier-points.ts";
import { changeBulkGrant, readBulkGrant } from "./bulk-grant-record.ts";
import { userIdForm } from "./check-row.ts";
import { hashOfRow, rowEventKey } from "./execute-row.ts";
import type { OnDamage } from "./find-overlaps.ts";
import { digestOf } from "./rows-digest.ts";
import { storeSummary } from "./summarize.ts";
import { readTiers } from "./tier-points.ts";

/** A range of blocks of a revision, from `from` up to, not including, `to`. */
export interface BlockRange extends BulkGrantName {
  readonly revision: number;
  readonly from: number;
  readonly to: number;
}

/** How far the work on a range has come; without `next` the range is done. */
export interface RangeProgress {
  readonly next?: number;
  /** The record does not want the range to be worked on any more. */
  readonly stopped?: true;
}

/** Checks the blocks of a range and stores what it finds, until `shouldContinue` returns false. */
export async function validateBlocks(
  deps: Pick<Deps, "engine" | "reader" | "clock">,
  range: BlockRange,
  shouldContinue: (progress: { readonly next: number }) => boolean,
): Promise<RangeProgress> {
  const bulkGrant = await readBulkGrant(deps, range);
  if (!isValidating(bulkGrant, range.revision)) return { next: range.from, stopped: true };
  const { revision } = bulkGrant;
  const { uploadId } = revision;
  for (let block = range.from; block < range.to; ) {
    const rows = await deps.reader.rowsOfBlock(uploadId, block);
    const found = await checkBlock(deps, { ...revision, ...range }, rows);
    await putCheck(deps, uploadId, block, { revision: range.revision, ...found });
    block += 1;
    if (block < range.to && !shouldContinue({ next: block })) return { next: block };
  }
  return {};
}

const isValidating = ({ state, revision }: BulkGrant, number: number): boolean =>
  state === "VALIDATING" && revision.number === number;

/**
 * Puts what was found, unless the block has a check already: an attempt that Temporal had given up
 * must not change a check after the run has begun.
 */
async function putCheck(
  deps: Pick<Deps, "engine">,
  uploadId: string,
  block: number,
  check: BlockCheck,
): Promise<void> {
  const ref = blockCheckRef(uploadId, block);
  await changeRecord(deps, { ref, expectAbsent: true }, (existing) => existing ?? check);
}

/**
 * Sums up a revision and ends its validation. While a block is not checked, the validation goes on
 * as it is.
 */
export async function completeValidation(
  deps: Pick<Deps, "engine" | "reader">,
  name: BulkGrantName,
  revision: number,
  onDamage: OnDamage,
): Promise<BulkGrant> {
  const bulkGrant = await readBulkGrant(deps, name);
  if (!isValidating(bulkGrant, revision)) return bulkGrant;
  const { uploadId } = bulkGrant.revision;
  let counts: CheckCounts = { invalidCount: 0, alreadyGrantedCount: 0, alreadyGrantedPoints: 0 };
  const accounts = { withoutAccountCount: 0, frozenCount: 0 };
  const hasAccount = new Uint8Array(bulkGrant.revision.rowCount).fill(1);
  let checkedCount = 0;
  for await (const checks of allPages(maxSheetBlocks, (page) =>
    deps.reader.blockChecks(uploadId, page),
  )) {
    for (const check of checks) {
      counts = added(counts, check);
      accounts.withoutAccountCount += check.withoutAccountCount;
      accounts.frozenCount += check.frozenCount;
      for (const index of check.withoutAccount) hasAccount[check.block * rowsPerBlock + index] = 0;
      checkedCount += 1;
    }
  }
  if (checkedCount < Math.ceil(bulkGrant.revision.rowCount / rowsPerBlock)) return bulkGrant;
  const found = { ...accounts, hasAccount };
  const { warnings = [] } = await storeSummary(deps, bulkGrant, found, onDamage);
  const { record } = await changeBulkGrant(deps, name, (validating, now, tx) =>
    endValidation(
      validating,
      revision,
      counts,
      () => limitsOf(tx, validating, counts, warnings, now),
      now,
    ),
  );
  return record;
}

/**
 * Applies the rules in force to the points of all revisions, and to what will be granted now
 * together with what the tiers count, and to the warnings. Only more approvals, a cap that is
 * exceeded and warnings that are refused change what the submission has recorded. What revokes
 * grants nothing, so it is neither capped nor counted.
 */
function limitsOf(
  tx: Transaction,
  bulkGrant: BulkGrant,
  counts: CheckCounts,
  warnings: readonly SheetWarning[],
  now: Instant,
): ValidatedLimits {
  const { programId, bulkGrantId, revision } = bulkGrant;
  const { rules, window } = readTiers(tx, programId, bulkGrant, revision.number, now);
  const revokes = isRevocation(revision);
  const points = revokes ? revision.totalPoints : campaignPoints(bulkGrant, counts);
  const newPoints = revokes ? 0 : revision.totalPoints - counts.alreadyGrantedPoints;
  const requiredApprovalCount = Math.max(
    revision.requiredApprovalCount,
    approvalsFor(rules, points),
    approvalsWithin(rules, window, newPoints),
  );
  const digest = digestOf({
    ...revision,
    programId,
    bulkGrantId,
    revision: revision.number,
    requiredApprovalCount,
  });
  const isOverCap = points !== revision.totalPoints && points > rules.maxTotalPoints;
  const exceededMaxTotalPoints =
    revision.exceededMaxTotalPoints ?? (isOverCap ? rules.maxTotalPoints : undefined);
  const tierPoints = tierPointsOf(window, requiredApprovalCount, newPoints);
  const refused = warnings.filter(({ code }) => rules.refusedWarnings.includes(code));
  return {
    limits: {
      requiredApprovalCount,
      digest,
      ...(exceededMaxTotalPoints !== undefined && { exceededMaxTotalPoints }),
    },
    ...(tierPoints && { tierPoints }),
    ...(refused.length > 0 && { refusedWarnings: refused }),
  };
}

/** Adds what was found in a block. */
export const added = (counts: CheckCounts, found: BlockCheck): CheckCounts => ({
  invalidCount: counts.invalidCount + countRows(found.problems),
  alreadyGrantedCount: counts.alreadyGrantedCount + found.alreadyGranted.length,
  alreadyGrantedPoints: counts.alreadyGrantedPoints + found.alreadyGrantedPoints,
});

/** The fields of a revision that the checks of its rows need. */
type CheckedSheet = BulkGrantName &
  Pick<Revision, "reversedBulkGrantId" | "request"> & {
    readonly executeTime?: Instant | undefined;
    readonly expireMonth?: Month | undefined;
  };

/** The result of a check, without the revision to which the rows belong. */
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
  const { programId, bulkGrantId } = sheet;
  const revokes = isRevocation(sheet);
  const named = rows.flatMap((row, index) => (userIdForm.test(row.userId) ? [{ row, index }] : []));
  const [events, accounts] = await Promise.all([
    reader.many(named.map(({ row }) => rowEventKey(programId, bulkGrantId, row.userId))),
    reader.many(named.map(({ row }) => accountRef(programId, row.userId))),
  ]);
  const alreadyGranted: number[] = [];
  let alreadyGrantedPoints = 0;
  const known = new Set<number>();
  for (const [i, { index }] of named.entries()) if (accounts[i]) known.add(index);
  const withoutAccount = [...rows.keys()].filter((index) => !known.has(index));
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
      event && (revokes || row.problems || isSameRequest(event.hash, hashOfRow(row, sheet)));
    if (points !== undefined && (points === row.points || revokes) && isSame) {
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
    if (accounts[i]?.frozen && !revokes) found.push({ index, code: "ACCOUNT_FROZEN" });
  }
  const problems = found.toSorted((a, b) => a.index - b.index);
  const counts = { alreadyGrantedPoints, withoutAccountCount, frozenCount };
  return { alreadyGranted, withoutAccount, ...counts, problems };
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
