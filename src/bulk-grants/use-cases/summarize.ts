/** Sums up a revision for the people who approve it, and keeps the summary. */
import pLimit from "p-limit";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import { getProgram } from "../../points/use-cases/programs/queries.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkRevisionRef, bulkSummaryRef } from "../ports/records.ts";
import type { BulkGrant, BulkGrantName } from "../rules/bulk-grant.ts";
import {
  type BulkGrantSummary,
  grantedPointsExpireTime,
  maxExpireMonths,
  type Overlap,
  type ReasonTotal,
  type RevisionDifference,
  warnedOverlaps,
  withoutNumbers,
} from "../rules/bulk-grant-summary.ts";
import { rowsPerBlock } from "../rules/sheet.ts";
import type { SheetReading } from "../rules/sheet-reading.ts";
import { readBulkGrant } from "./bulk-grant-record.ts";
import { findOverlaps, type OnDamage, unlessDamaged } from "./find-overlaps.ts";
import { someUsers } from "./program-users.ts";
import { createSheetIndex, type SheetIndex } from "./sheet-index.ts";
import { createSheetWarnings } from "./sheet-warnings.ts";
import { rightRows, storedRows } from "./stored-rows.ts";

/** What the checks of all blocks have found of accounts. */
interface FoundAccounts extends Pick<BulkGrantSummary, "withoutAccountCount" | "frozenCount"> {
  /** Of each row of the sheet, whether its user has an account. */
  readonly hasAccount: Uint8Array;
}

/** A summary takes up to 20 MB while it is made, so only so many are made at once. */
const limit = pLimit(2);

/**
 * Makes and keeps the summary of the current revision, unless it is kept already: an attempt that
 * Temporal had given up must not change what people have read. Other revisions and bulk grants
 * whose records are damaged are left out of the comparison.
 */
export async function storeSummary(
  deps: Pick<Deps, "engine" | "reader">,
  bulkGrant: BulkGrant,
  accounts: FoundAccounts,
  onDamage: OnDamage,
): Promise<BulkGrantSummary> {
  const { programId, bulkGrantId, revision } = bulkGrant;
  const ref = bulkSummaryRef(programId, bulkGrantId, revision.number);
  const kept = await readSummary(deps, bulkGrant, revision.number);
  if (kept) return kept;
  const summary = await limit(() => summarize(deps, bulkGrant, accounts, onDamage));
  const { record } = await changeRecord(
    deps,
    { ref, expectAbsent: true },
    (existing) => existing ?? summary,
  );
  return record;
}

async function summarize(
  deps: Pick<Deps, "reader">,
  bulkGrant: BulkGrant,
  { hasAccount, ...accounts }: FoundAccounts,
  onDamage: OnDamage,
): Promise<BulkGrantSummary> {
  const { revision } = bulkGrant;
  const index = createSheetIndex(revision.rowCount, revision);
  const collector = createSheetWarnings();
  for await (const rows of storedRows(deps, revision)) {
    for (const { row, number } of rows) {
      if (!row.problems) index.add(row, number);
      collector.add(row, hasAccount[number] === 1);
    }
  }
  // The rows of a reversal come from what was granted, not from a sheet of people.
  const isReversal = revision.reversedBulkGrantId !== undefined;
  const readUsers = () => someUsers(deps, bulkGrant.programId);
  const warnings = isReversal ? [] : await collector.result(readUsers);
  const comparing = differenceOf(deps, bulkGrant, index);
  const difference = await unlessDamaged(comparing, "the revision before", onDamage);
  const months = index.months();
  const hasMonths = months.some(({ expireMonth }) => expireMonth !== undefined);
  return {
    ...index.summary(),
    expireMonths: hasMonths ? months.slice(0, maxExpireMonths) : undefined,
    ...(await reasonsOf(deps, revision.uploadId, index)),
    ...accounts,
    difference,
    ...(await findOverlaps(deps, bulkGrant, index, onDamage)),
    ...(warnings.length > 0 && { warnings }),
    reading: await readingOf(deps, bulkGrant),
  };
}

/** How the sheet was understood, which only the record of the revision has. */
async function readingOf(
  { reader }: Pick<Deps, "reader">,
  { programId, bulkGrantId, revision }: BulkGrant,
): Promise<SheetReading | undefined> {
  const ref = bulkRevisionRef(programId, bulkGrantId, revision.number);
  return (await reader.get(ref))?.value.reading;
}

/** The reasons with the most points, by groups. Their texts are read again: the index has none. */
async function reasonsOf(
  { reader }: Pick<Deps, "reader">,
  uploadId: string,
  index: SheetIndex,
): Promise<Pick<BulkGrantSummary, "reasons" | "otherReasons">> {
  const { largest, others } = index.reasons();
  const reasons: ReasonTotal[] = await Promise.all(
    largest.map(async ({ firstRow, reasonCount, rowCount, points }) => {
      const rows = await reader.rowsOfBlock(uploadId, Math.floor(firstRow / rowsPerBlock));
      const reason = rows[firstRow % rowsPerBlock]?.reason ?? "";
      if (reasonCount === 1) return { reason, rowCount, points };
      return { reason: withoutNumbers(reason), rowCount, points, variantCount: reasonCount };
    }),
  );
  return { reasons, otherReasons: others.reasonCount > 0 ? others : undefined };
}

async function differenceOf(
  deps: Pick<Deps, "reader">,
  { programId, bulkGrantId, revision }: BulkGrant,
  index: SheetIndex,
): Promise<RevisionDifference | undefined> {
  const ref = bulkRevisionRef(programId, bulkGrantId, revision.number - 1);
  const before = await deps.reader.get(ref);
  if (!before) return undefined;
  const comparison = index.compareRevision(before.value);
  for await (const rows of rightRows(deps, before.value)) {
    for (const { row } of rows) comparison.add(row);
  }
  return comparison.result();
}

/** Reads the summary of a revision; undefined before the end of its validation. */
export async function readSummary(
  { reader }: Pick<Deps, "reader">,
  { programId, bulkGrantId }: BulkGrantName,
  revision: number,
): Promise<BulkGrantSummary | undefined> {
  return (await reader.get(bulkSummaryRef(programId, bulkGrantId, revision)))?.value;
}

/** A summary with what depends on the moment at which it is read. */
export interface ReadSummary {
  readonly revision: number;
  /** Whether its row is a request for one user. A request has no other revision. */
  readonly isRequest: boolean;
  readonly summary: BulkGrantSummary;
  /** The overlaps of which people are warned. */
  readonly warned: readonly Overlap[];
  /**
   * When the points of the current revision expire, if they are granted now or at its execute time;
   * absent for a reversal.
   */
  readonly expireTime?: Instant | undefined;
}

/**
 * Reads the summary of a revision: of the current one when `revision` is 0. Refusals:
 * BULK_GRANT_NOT_FOUND; SUMMARY_NOT_FOUND while it is being validated, or without such a revision.
 */
export async function getSummary(
  deps: Pick<Deps, "reader" | "clock">,
  name: BulkGrantName,
  revision: number,
): Promise<ReadSummary> {
  const bulkGrant = await readBulkGrant(deps, name);
  const number = revision || bulkGrant.revision.number;
  const summary = await readSummary(deps, name, number);
  if (!summary) throw new DomainError("SUMMARY_NOT_FOUND", `revision ${number} has no summary yet`);
  const isRequest = bulkGrant.revision.request !== undefined;
  const read = { revision: number, isRequest, summary, warned: warnedOverlaps(summary) };
  if (number !== bulkGrant.revision.number) return read;
  const program = await getProgram(deps, name.programId);
  const { calendar } = await deps.clock.now();
  const expireTime = grantedPointsExpireTime(bulkGrant, program, calendar);
  return { ...read, expireTime };
}
