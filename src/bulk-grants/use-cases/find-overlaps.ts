/** Finds what a revision has in common with the last bulk grants of its program. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkRevisionRef } from "../ports/records.ts";
import { activeStates, type BulkGrant, isRevocation, type Revision } from "../rules/bulk-grant.ts";
import { type BulkGrantSummary, lookAlikesOf, type Overlap } from "../rules/bulk-grant-summary.ts";
import type { SheetIndex } from "./sheet-index.ts";
import { grantedRows, rightRows } from "./stored-rows.ts";

/** So many bulk grants are compared: the newest ones that grant or have granted. */
const maxCompared = 5;

/** They are looked for among the newest bulk grants of this time before the submission. */
const windowMs = 90 * 24 * 60 * 60 * 1_000;
const maxListed = 100;

/**
 * Requests for one user are left out of the list, for which so many pages are read at most: those
 * of 50 requests a day.
 */
const maxPages = 50;

/** All compared sheets together have at most this many rows, about 12,000 read units. */
const maxComparedRows = 1_000_000;

/** So many revisions before the current one of a bulk grant are compared: the latest ones. */
const maxEarlierRevisions = 10;

/** Gets what cannot be read, and why. */
export type OnDamage = (what: string, error: unknown) => void;

/**
 * Compares a sheet, whose index is given, with the last bulk grants of the program: with the rows
 * that they have granted in any revision and, while they are active, with all rows of the current
 * one. What revokes is compared with nothing. Titles are compared with those of all bulk grants
 * that were listed. What is requested for one user has no title: for it nothing is listed, because
 * there may be thousands of requests. A bulk grant whose records are damaged is left out.
 */
export async function findOverlaps(
  deps: Pick<Deps, "reader">,
  bulkGrant: BulkGrant,
  index: SheetIndex,
  onDamage: OnDamage,
): Promise<Pick<BulkGrantSummary, "comparedCount" | "overlaps" | "lookAlikes">> {
  const overlaps: Overlap[] = [];
  if (bulkGrant.revision.request) return { comparedCount: 0, overlaps };
  const last = await unlessDamaged(
    lastBulkGrants(deps, bulkGrant),
    "the last bulk grants",
    onDamage,
  );
  if (!last) return { comparedCount: 0, overlaps };
  const { others, reversals } = last;
  const ids = lookAlikesOf(bulkGrant, others);
  const lookAlikes = ids.length > 0 ? { lookAlikes: ids } : {};
  if (isRevocation(bulkGrant.revision)) return { comparedCount: 0, overlaps, ...lookAlikes };
  let rowsLeft = maxComparedRows;
  let comparedCount = 0;
  const granting = others.filter(({ revision }) => revision.reversedBulkGrantId === undefined);
  for (const other of granting.slice(0, maxCompared)) {
    const { bulkGrantId } = other;
    const sheets = (await unlessDamaged(sheetsOf(deps, other), bulkGrantId, onDamage)) ?? [];
    for (const { revision } of sheets) rowsLeft -= revision.rowCount;
    if (rowsLeft < 0) break;
    const common = await unlessDamaged(compare(deps, sheets, index), bulkGrantId, onDamage);
    if (!common) continue;
    comparedCount += 1;
    const reversalId = reversals.get(other.bulkGrantId);
    if (common.sameUserCount === 0) continue;
    overlaps.push({ ...about(other), ...common, reversalId });
  }
  return { comparedCount, overlaps: sorted(overlaps), ...lookAlikes };
}

/** Undefined for records that do not decode. Throws retryable errors. */
export async function unlessDamaged<T>(
  reading: Promise<T>,
  what: string,
  onDamage: OnDamage,
): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof DomainError && error.retryable) throw error;
    onDamage(what, error);
    return undefined;
  }
}

/** The users that these sheets have in common with the indexed one. */
async function compare(
  deps: Pick<Deps, "reader">,
  sheets: readonly ReadSheet[],
  index: SheetIndex,
) {
  const comparison = index.compareBulkGrant();
  for (const { revision, read } of sheets) {
    for await (const rows of read(deps, revision)) {
      for (const { row } of rows) comparison.add(row);
    }
  }
  return comparison.result();
}

const sorted = (overlaps: readonly Overlap[]): Overlap[] =>
  overlaps.toSorted((a, b) => b.sameUserCount - a.sameUserCount);

const about = ({ bulkGrantId, state, startTime, revision }: BulkGrant) => ({
  bulkGrantId,
  state,
  time: startTime ?? revision.executeTime ?? revision.submitTime,
});

/**
 * The other bulk grants that grant or have granted, newest first, and reversals by the id of what
 * they reverse.
 */
async function lastBulkGrants(
  { reader }: Pick<Deps, "reader">,
  { programId, bulkGrantId, revision }: BulkGrant,
) {
  const filter = {
    programId,
    state: undefined,
    start: revision.submitTime - windowMs,
    end: undefined,
  };
  const items = await newestSheets(reader, filter);
  const reversals = new Map<string, string>();
  for (const { state, revision, bulkGrantId } of items) {
    const isDone = state === "DONE" || state === "DONE_WITH_FAILURES";
    if (isDone && revision.reversedBulkGrantId !== undefined) {
      reversals.set(revision.reversedBulkGrantId, bulkGrantId);
    }
  }
  const others = items.filter(
    (other) => other.bulkGrantId !== bulkGrantId && (isActive(other) || hasGranted(other)),
  );
  return { others, reversals };
}

/** The newest bulk grants that are no requests: many of these must not push a sheet out. */
async function newestSheets(
  reader: Deps["reader"],
  filter: Parameters<typeof reader.bulkGrants>[0],
): Promise<BulkGrant[]> {
  const sheets: BulkGrant[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages && sheets.length < maxListed; pages++) {
    const page = await reader.bulkGrants(filter, { size: maxListed, cursor });
    sheets.push(...page.items.filter(({ revision }) => !revision.request));
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return sheets.slice(0, maxListed);
}

const isActive = ({ state }: BulkGrant): boolean => activeStates.includes(state);

const hasGranted = ({ result, grantedBefore = 0 }: BulkGrant): boolean =>
  grantedBefore > 0 || (result !== undefined && result.grantedCount > 0);

/** A revision that has rows to be compared, and how these are read. */
interface ReadSheet {
  readonly revision: Revision;
  readonly read: typeof rightRows;
}

/** The revisions of a bulk grant that have rows to be compared. */
async function sheetsOf(
  { reader }: Pick<Deps, "reader">,
  bulkGrant: BulkGrant,
): Promise<ReadSheet[]> {
  const { programId, bulkGrantId, revision, grantedBefore = 0 } = bulkGrant;
  const current = { revision, read: isActive(bulkGrant) ? rightRows : grantedRows };
  if (grantedBefore === 0) return [current];
  const count = Math.min(revision.number - 1, maxEarlierRevisions);
  const refs = Array.from({ length: count }, (_, i) =>
    bulkRevisionRef(programId, bulkGrantId, revision.number - 1 - i),
  );
  const earlier = (await reader.many(refs)).flatMap((each) => each ?? []);
  return [current, ...earlier.map((revision) => ({ revision, read: grantedRows }))];
}
