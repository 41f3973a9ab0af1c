/** Validates a sheet block by block: stores what its checks find, and ends the validation. */
import type { BulkGrant, BulkGrantName, CheckCounts, Revision } from "../../domain/bulk-grant.ts";
import { campaignPoints, endValidation } from "../../domain/bulk-grant-changes.ts";
import { approvalsFor } from "../../domain/program.ts";
import { maxSheetBlocks } from "../../domain/sheet.ts";
import type { BlockCheck } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages } from "../ports/pages.ts";
import { blockCheckRef } from "../ports/records.ts";
import { getBulkRules } from "../programs/queries.ts";
import { changeRecord } from "../shared/change-record.ts";
import { changeBulkGrant, readBulkGrant } from "./bulk-grant-record.ts";
import { checkBlock } from "./check-block.ts";
import { digestOf } from "./rows-digest.ts";

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
  deps: Pick<Deps, "engine" | "reader">,
  range: BlockRange,
  shouldContinue: (progress: { readonly next: number }) => boolean,
): Promise<RangeProgress> {
  const bulkGrant = await readBulkGrant(deps, range);
  if (!isValidating(bulkGrant, range.revision)) return { next: range.from, stopped: true };
  const { uploadId, reversedBulkGrantId } = bulkGrant.revision;
  for (let block = range.from; block < range.to; ) {
    const rows = await deps.reader.rowsOfBlock(uploadId, block);
    const found = await checkBlock(deps, { ...range, reversedBulkGrantId }, rows);
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
  let counts: CheckCounts = { invalidCount: 0, alreadyGrantedCount: 0, alreadyGrantedPoints: 0 };
  for await (const checks of allPages(maxSheetBlocks, (page) =>
    deps.reader.blockChecks(uploadId, page),
  )) {
    for (const check of checks) counts = added(counts, check);
  }
  const limits = await limitsOf(deps, bulkGrant, counts);
  const { record } = await changeBulkGrant(deps, name, (validating, now) =>
    endValidation(validating, revision, counts, limits, now),
  );
  return record;
}

/**
 * Applies the program's rules to the points of all revisions. Only more approvals and a cap that is
 * exceeded change what the submission has recorded.
 */
async function limitsOf(
  deps: Pick<Deps, "reader">,
  bulkGrant: BulkGrant,
  counts: CheckCounts,
): Promise<Pick<Revision, "requiredApprovalCount" | "exceededMaxTotalPoints" | "digest">> {
  const { programId, bulkGrantId, revision } = bulkGrant;
  const points = campaignPoints(bulkGrant, counts);
  if (points === revision.totalPoints || revision.reversedBulkGrantId !== undefined)
    return revision;
  const rules = await getBulkRules(deps, programId);
  const requiredApprovalCount = Math.max(
    revision.requiredApprovalCount,
    approvalsFor(rules, points),
  );
  const digest = digestOf({
    ...revision,
    programId,
    bulkGrantId,
    revision: revision.number,
    requiredApprovalCount,
  });
  const exceededMaxTotalPoints =
    revision.exceededMaxTotalPoints ??
    (points > rules.maxTotalPoints ? rules.maxTotalPoints : undefined);
  return {
    requiredApprovalCount,
    digest,
    ...(exceededMaxTotalPoints !== undefined && { exceededMaxTotalPoints }),
  };
}

/** Adds what was found in a block. */
export const added = (counts: CheckCounts, found: BlockCheck): CheckCounts => ({
  invalidCount: counts.invalidCount + found.problems.length,
  alreadyGrantedCount: counts.alreadyGrantedCount + found.alreadyGranted.length,
  alreadyGrantedPoints: counts.alreadyGrantedPoints + found.alreadyGrantedPoints,
});
