/** The validation of a sheet against the store, block by block. */
import type { BulkGrant, CheckCounts, Revision } from "../../domain/bulk-grant.ts";
import { campaignPoints, endValidation } from "../../domain/bulk-grant-changes.ts";
import { approvalsFor, defaultBulkRules } from "../../domain/program.ts";
import { maxSheetBlocks, type SheetRow } from "../../domain/sheet.ts";
import type { BlockCheck, BlockProblem } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages } from "../ports/pages.ts";
import { accountRef, blockCheckRef } from "../ports/records.ts";
import { getProgram } from "../programs/queries.ts";
import { changeRecord } from "../shared/change-record.ts";
import { type BulkGrantName, changeRow, readBulkGrant } from "./change-row.ts";
import { rowEventKey } from "./row-event.ts";
import { digestOf } from "./rows-digest.ts";

/** A range of blocks of a revision, from `from` up to, not including, `to`. */
export interface BlockRange extends BulkGrantName {
  readonly revision: number;
  readonly from: number;
  readonly to: number;
}

/** Where work on a range has stopped; without `next` the range is done. */
export interface BlockPlace {
  readonly next?: number;
  /** The record does not want the range to be worked on any more. */
  readonly stopped?: true;
}

/** What the rows of one block are checked for. */
type CheckedSheet = BulkGrantName & { readonly reverses?: string | undefined };

/** What a check has found, without the revision to which the rows belong. */
type FoundInBlock = Omit<BlockCheck, "revision">;

/**
 * Checks rows: their own problems, whether this bulk grant has granted them before, and whether
 * their accounts are frozen. A row that was granted before with other points is a problem.
 */
export async function checkBlock(
  { reader }: Pick<Deps, "reader">,
  { programId, bulkGrantId, reverses }: CheckedSheet,
  rows: readonly SheetRow[],
): Promise<FoundInBlock> {
  const valid = rows.flatMap((row, index) => (row.problem ? [] : [{ row, index }]));
  const [events, accounts] = await Promise.all([
    reader.many(valid.map(({ row }) => rowEventKey(programId, bulkGrantId, row.userId))),
    reader.many(valid.map(({ row }) => accountRef(programId, row.userId))),
  ]);
  const alreadyGranted: number[] = [];
  let alreadyGrantedPoints = 0;
  const problems: BlockProblem[] = rows.flatMap(({ problem }, index) =>
    problem ? [{ index, ...problem }] : [],
  );
  for (const [i, { row, index }] of valid.entries()) {
    const points = events[i]?.entry.points;
    if (points !== undefined && (points === row.points || reverses !== undefined)) {
      alreadyGranted.push(index);
      alreadyGrantedPoints += points;
    } else if (points !== undefined) {
      problems.push({ index, code: "ID_REUSED", detail: String(points) });
    } else if (accounts[i]?.frozen && reverses === undefined) {
      problems.push({ index, code: "ACCOUNT_FROZEN" });
    }
  }
  problems.sort((a, b) => a.index - b.index);
  return { alreadyGranted, alreadyGrantedPoints, problems };
}

/** Checks the blocks of a range and stores what it finds, until `shouldContinue` returns false. */
export async function validateBlocks(
  deps: Pick<Deps, "engine" | "reader">,
  range: BlockRange,
  shouldContinue: (place: { readonly next: number }) => boolean,
): Promise<BlockPlace> {
  const row = await readBulkGrant(deps, range);
  for (let block = range.from; block < range.to; ) {
    if (!isValidating(row, range.revision)) return { next: block, stopped: true };
    const { uploadId, reverses } = row.revision;
    const rows = await deps.reader.rowsOfBlock(uploadId, block);
    const found = await checkBlock(deps, { ...range, reverses }, rows);
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

/** Ends the validation with the counts of all blocks, which have to be checked. */
export async function completeValidation(
  deps: Pick<Deps, "engine" | "reader">,
  name: BulkGrantName,
  revision: number,
): Promise<BulkGrant> {
  const bulkGrant = await readBulkGrant(deps, name);
  const { uploadId } = bulkGrant.revision;
  let counts: CheckCounts = { invalid: 0, alreadyGranted: 0, alreadyGrantedPoints: 0 };
  for await (const checks of allPages(maxSheetBlocks, (page) =>
    deps.reader.blockChecks(uploadId, page),
  )) {
    for (const check of checks) counts = added(counts, check);
  }
  const limits = await limitsOf(deps, bulkGrant, counts);
  const { row } = await changeRow(deps, name, (row, now) =>
    endValidation(row, revision, counts, limits, now),
  );
  return row;
}

/**
 * Applies the program's rules to the points of all revisions. Only more approvals and a cap that is
 * exceeded change what the submission has recorded.
 */
async function limitsOf(
  deps: Pick<Deps, "reader">,
  bulkGrant: BulkGrant,
  counts: CheckCounts,
): Promise<Pick<Revision, "requiredApprovals" | "exceededCap" | "digest">> {
  const { programId, bulkGrantId, revision } = bulkGrant;
  const points = campaignPoints(bulkGrant, counts);
  if (points === revision.totalPoints || revision.reverses !== undefined) return revision;
  const { bulkRules: rules = defaultBulkRules } = await getProgram(deps, programId);
  const requiredApprovals = Math.max(revision.requiredApprovals, approvalsFor(rules, points));
  const digest = digestOf({
    ...revision,
    programId,
    bulkGrantId,
    revision: revision.number,
    requiredApprovals,
  });
  const exceededCap =
    revision.exceededCap ?? (points > rules.maxTotalPoints ? rules.maxTotalPoints : undefined);
  return { requiredApprovals, digest, ...(exceededCap !== undefined && { exceededCap }) };
}

/** Adds what was found in a block. */
export const added = (counts: CheckCounts, found: FoundInBlock): CheckCounts => ({
  invalid: counts.invalid + found.problems.length,
  alreadyGranted: counts.alreadyGranted + found.alreadyGranted.length,
  alreadyGrantedPoints: counts.alreadyGrantedPoints + found.alreadyGrantedPoints,
});
