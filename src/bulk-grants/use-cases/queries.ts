/** The use cases that read bulk grants and their rows. */

import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type {
  BlockCheck,
  BlockOutcome,
  BlockProblem,
  BulkGrantProgress,
  FailedRow,
} from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { bulkRevisionRef } from "../ports/records.ts";
import {
  activeStates,
  type BulkGrant,
  type BulkGrantName,
  type BulkGrantState,
  type Revision,
} from "../rules/bulk-grant.ts";
import { type RowProblem, rowsPerBlock, type SheetRow } from "../rules/sheet.ts";
import { readBulkGrant } from "./bulk-grant-record.ts";
import { countOutcomes } from "./run.ts";
import { readStoredBlock } from "./stored-block.ts";

/** The state of a row. */
export type RowState = "PENDING" | "GRANTED" | "ALREADY_GRANTED" | "INVALID" | "FAILED" | "NOT_RUN";

/** A row of a revision, with its state and everything that is wrong with it. */
export interface ReadRow {
  readonly row: SheetRow;
  readonly state: RowState;
  readonly problems: readonly RowProblem[];
}

/** A bulk grant with the progress of its run. */
export interface BulkGrantWithProgress {
  readonly bulkGrant: BulkGrant;
  readonly progress: BulkGrantProgress;
}

type ReadDeps = Pick<Deps, "reader">;

/** A page of rows reads at most this many blocks, so that its cost is bounded. */
const maxBlocksOfPage = 4;

/** Reads a bulk grant and its progress. Refusal: BULK_GRANT_NOT_FOUND. */
export async function getBulkGrant(
  deps: ReadDeps,
  name: BulkGrantName,
): Promise<BulkGrantWithProgress> {
  const bulkGrant = await readBulkGrant(deps, name);
  return { bulkGrant, progress: await progressOf(deps, bulkGrant) };
}

/** The progress: the result of an ended run, or what the blocks that are done have counted. */
export async function progressOf(deps: ReadDeps, bulkGrant: BulkGrant): Promise<BulkGrantProgress> {
  if (bulkGrant.state === "RUNNING") return countOutcomes(deps, bulkGrant);
  return bulkGrant.result ?? { grantedCount: 0, grantedPoints: 0, failedCount: 0 };
}

/** Lists bulk grants by create time, newest first; in one state, or in all. */
export const listBulkGrants = (
  { reader }: ReadDeps,
  filter: { readonly programId: string; readonly state: BulkGrantState | undefined } & Window,
  page: PageRequest,
): Promise<Page<BulkGrant>> => reader.bulkGrants(filter, page);

/** Which rows are listed: of a revision or of the current one, in a state or in all. */
interface RowFilter {
  readonly revision?: number | undefined;
  readonly state?: RowState | undefined;
}

/**
 * Lists the rows of a revision in their order. A page may be short, or empty, although it has a
 * cursor. Refusals: BULK_GRANT_NOT_FOUND, INVALID_REQUEST for a revision that there is not, and for
 * the cursor of another one.
 */
export async function listRows(
  deps: ReadDeps,
  name: BulkGrantName,
  { revision: number, state }: RowFilter,
  { size, cursor }: PageRequest,
): Promise<Page<ReadRow>> {
  const rowsOf = await readRevision(deps, await readBulkGrant(deps, name), number);
  const { revision } = rowsOf;
  const items: ReadRow[] = [];
  let next = cursor === undefined ? 0 : rowOf(cursor, revision);
  for (let blocks = 0; blocks < maxBlocksOfPage && items.length < size; blocks++) {
    const block = Math.floor(next / rowsPerBlock);
    const rows = await readStates(deps, rowsOf, block);
    for (const row of rows.slice(next % rowsPerBlock)) {
      if (items.length === size) break;
      next += 1;
      if (state === undefined || row.state === state) items.push(row);
    }
    if (next >= revision.rowCount) return { items };
  }
  return { items, cursor: `${revision.number}:${next}` };
}

/** The row with which the page of a cursor begins. */
function rowOf(cursor: string, { number, rowCount }: Revision): number {
  const [, revision, row] = /^(\d{1,9}):(\d{1,9})$/.exec(cursor) ?? [];
  if (Number(revision) === number && Number(row) < rowCount) return Number(row);
  throw new DomainError("INVALID_REQUEST", "page_token: is not one of this revision", {
    field: "page_token",
  });
}

/** The rows of the current revision that were not granted, in their order. */
export async function* failedRows(
  deps: ReadDeps,
  bulkGrant: BulkGrant,
): AsyncGenerator<FailedRow, void> {
  const rowsOf = await readRevision(deps, bulkGrant);
  for (let block = 0; block * rowsPerBlock < rowsOf.revision.rowCount; block++) {
    for (const { row, problems } of await readStates(deps, rowsOf, block)) {
      if (problems.length > 0) yield { row, problems };
    }
  }
}

/** A revision whose rows are read. */
interface RevisionToRead {
  readonly revision: Revision;
  /** Whether rows without an outcome are still to be run. */
  readonly isActive: boolean;
}

/** The current revision, or the one of this number. Refusal: INVALID_REQUEST if there is none. */
export async function readRevision(
  { reader }: ReadDeps,
  { programId, bulkGrantId, state, revision: current }: BulkGrant,
  number = current.number,
): Promise<RevisionToRead> {
  if (number === current.number) {
    return { revision: current, isActive: activeStates.includes(state) };
  }
  const [revision] = await reader.many([bulkRevisionRef(programId, bulkGrantId, number)]);
  if (revision) return { revision, isActive: false };
  throw new DomainError("INVALID_REQUEST", `revision: there is no revision ${number}`, {
    field: "revision",
  });
}

/** Reads a block of rows with their states. */
export async function readStates(
  deps: ReadDeps,
  { revision, isActive }: RevisionToRead,
  block: number,
): Promise<ReadRow[]> {
  const { rows, check, outcome } = await readStoredBlock(deps, revision.uploadId, block);
  const stateOf = rowStates(isActive, check, outcome);
  return rows.map((row, index) => ({ row, ...stateOf(row, index) }));
}

function rowStates(
  isActive: boolean,
  check: BlockCheck | undefined,
  outcome: BlockOutcome | undefined,
): (row: SheetRow, index: number) => Omit<ReadRow, "row"> {
  const already = new Set(check?.alreadyGranted);
  const invalid = byIndex(check?.problems);
  const failed = byIndex(outcome?.failures);
  return ({ problems: own }, index) => {
    const problems = invalid.get(index) ?? own;
    if (problems) return { state: "INVALID", problems };
    if (already.has(index)) return { state: "ALREADY_GRANTED", problems: [] };
    const failures = failed.get(index);
    if (failures) {
      const isNotRun = failures.some(({ code }) => code === "NOT_RUN");
      return { state: isNotRun ? "NOT_RUN" : "FAILED", problems: failures };
    }
    if (outcome) return { state: "GRANTED", problems: [] };
    return isActive
      ? { state: "PENDING", problems: [] }
      : { state: "NOT_RUN", problems: [{ code: "NOT_RUN" }] };
  };
}

function byIndex(found: readonly BlockProblem[] = []): ReadonlyMap<number, readonly RowProblem[]> {
  const problems = new Map<number, RowProblem[]>();
  for (const { index, ...problem } of found) {
    problems.set(index, [...(problems.get(index) ?? []), problem]);
  }
  return problems;
}
