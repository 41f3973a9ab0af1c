/** Validates a sheet block by block: stores what its checks find, and ends the validation. */

import type { Transaction } from "../../platform/ports/engine.ts";
import { allPages } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import { approvalsFor } from "../../points/rules/bulk-rules.ts";
import type { BlockCheck } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { blockCheckRef } from "../ports/records.ts";
import type { BulkGrant, BulkGrantName, CheckCounts } from "../rules/bulk-grant.ts";
import {
  campaignPoints,
  endValidation,
  type ValidatedLimits,
} from "../rules/bulk-grant-changes.ts";
import { approvalsWithin, countedAs } from "../rules/counted-points.ts";
import { maxSheetBlocks, rowsPerBlock } from "../rules/sheet.ts";
import { changeBulkGrant, readBulkGrant } from "./bulk-grant-record.ts";
import { checkBlock, countRows } from "./check-block.ts";
import { readTiers } from "./counted-points.ts";
import type { OnDamage } from "./find-overlaps.ts";
import { digestOf } from "./rows-digest.ts";
import { keepSummary } from "./summarize.ts";

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
  let checkedCount = 0;
  for await (const checks of allPages(maxSheetBlocks, (page) =>
    deps.reader.blockChecks(uploadId, page),
  )) {
    for (const check of checks) {
      counts = added(counts, check);
      accounts.withoutAccountCount += check.withoutAccountCount;
      accounts.frozenCount += check.frozenCount;
      checkedCount += 1;
    }
  }
  if (checkedCount < Math.ceil(bulkGrant.revision.rowCount / rowsPerBlock)) return bulkGrant;
  await keepSummary(deps, bulkGrant, accounts, onDamage);
  const { record } = await changeBulkGrant(deps, name, (validating, now, tx) =>
    endValidation(validating, revision, counts, () => limitsOf(tx, validating, counts, now), now),
  );
  return record;
}

/**
 * Applies the rules in force to the points of all revisions, and to what will be granted now
 * together with what the tiers count. Only more approvals and a cap that is exceeded change what
 * the submission has recorded. A reversal grants nothing, so it is neither capped nor counted.
 */
function limitsOf(
  tx: Transaction,
  bulkGrant: BulkGrant,
  counts: CheckCounts,
  now: Instant,
): ValidatedLimits {
  const { programId, bulkGrantId, revision } = bulkGrant;
  const { rules, window } = readTiers(tx, programId, bulkGrant, revision.number, now);
  const isReversal = revision.reversedBulkGrantId !== undefined;
  const points = isReversal ? revision.totalPoints : campaignPoints(bulkGrant, counts);
  const newPoints = isReversal ? 0 : revision.totalPoints - counts.alreadyGrantedPoints;
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
  const counted = countedAs(window, requiredApprovalCount, newPoints);
  return {
    limits: {
      requiredApprovalCount,
      digest,
      ...(exceededMaxTotalPoints !== undefined && { exceededMaxTotalPoints }),
    },
    ...(counted && { counted }),
  };
}

/** Adds what was found in a block. */
export const added = (counts: CheckCounts, found: BlockCheck): CheckCounts => ({
  invalidCount: counts.invalidCount + countRows(found.problems),
  alreadyGrantedCount: counts.alreadyGrantedCount + found.alreadyGranted.length,
  alreadyGrantedPoints: counts.alreadyGrantedPoints + found.alreadyGrantedPoints,
});
