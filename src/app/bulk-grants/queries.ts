/** The use cases that read bulk grants and their rows. */
import {
  activeStates,
  type BulkGrant,
  type BulkGrantName,
  type BulkGrantState,
  type Revision,
} from "../../domain/bulk-grant.ts";
import { DomainError } from "../../domain/errors.ts";
import { type RowProblem, rowsPerBlock, type SheetRow } from "../../domain/sheet.ts";
import type {
  BlockCheck,
  BlockOutcome,
  BulkGrantProgress,
  FailedRow,
} from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest, Window } from "../ports/pages.ts";
import { readBulkGrant } from "./bulk-grant-record.ts";
import { countOutcomes } from "./run.ts";
import { readStoredBlock } from "./stored-block.ts";

/** What has become of a row. */
export type RowState = "PENDING" | "GRANTED" | "ALREADY_GRANTED" | "INVALID" | "FAILED" | "NOT_RUN";

/** A row of the current revision, with its state and its problem, if any. */
export interface ReadRow {
  readonly row: SheetRow;
  readonly state: RowState;
  readonly problem?: RowProblem;
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

/**
 * Lists the rows of the current revision in their order; only those in `state`, if given. A page
 * may be short, or empty, although it has a cursor. Refusals: BULK_GRANT_NOT_FOUND,
 * INVALID_REQUEST for the cursor of an earlier revision.
 */
export async function listRows(
  deps: ReadDeps,
  name: BulkGrantName,
  state: RowState | undefined,
  { size, cursor }: PageRequest,
): Promise<Page<ReadRow>> {
  const bulkGrant = await readBulkGrant(deps, name);
  const { revision } = bulkGrant;
  const items: ReadRow[] = [];
  let next = cursor === undefined ? 0 : rowOf(cursor, revision);
  for (let blocks = 0; blocks < maxBlocksOfPage && items.length < size; blocks++) {
    const block = Math.floor(next / rowsPerBlock);
    const rows = await readStates(deps, bulkGrant, block);
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
  throw new DomainError("INVALID_REQUEST", "page_token: is not one of the current revision", {
    field: "page_token",
  });
}

/** The rows of the current revision that were not granted, in their order. */
export async function* failedRows(
  deps: ReadDeps,
  bulkGrant: BulkGrant,
): AsyncGenerator<FailedRow, void> {
  for (let block = 0; block * rowsPerBlock < bulkGrant.revision.rowCount; block++) {
    for (const { row, problem } of await readStates(deps, bulkGrant, block)) {
      if (problem) yield { row, problem };
    }
  }
}

/** Reads a block of rows with their states. */
async function readStates(deps: ReadDeps, bulkGrant: BulkGrant, block: number): Promise<ReadRow[]> {
  const { uploadId } = bulkGrant.revision;
  const { rows, check, outcome } = await readStoredBlock(deps, uploadId, block);
  const stateOf = rowStates(bulkGrant, check, outcome);
  return rows.map((row, index) => ({ row, ...stateOf(row, index) }));
}

function rowStates(
  { state }: BulkGrant,
  check: BlockCheck | undefined,
  outcome: BlockOutcome | undefined,
): (row: SheetRow, index: number) => Omit<ReadRow, "row"> {
  const already = new Set(check?.alreadyGranted);
  const invalid = byIndex(check);
  const failed = byIndex(outcome && { problems: outcome.failures });
  return ({ problem: own }, index) => {
    const problem = invalid.get(index) ?? own;
    if (problem) return { state: "INVALID", problem };
    if (already.has(index)) return { state: "ALREADY_GRANTED" };
    const failure = failed.get(index);
    if (failure)
      return { state: failure.code === "NOT_RUN" ? "NOT_RUN" : "FAILED", problem: failure };
    if (outcome) return { state: "GRANTED" };
    return activeStates.includes(state)
      ? { state: "PENDING" }
      : { state: "NOT_RUN", problem: { code: "NOT_RUN" } };
  };
}

const byIndex = (found: Pick<BlockCheck, "problems"> | undefined): Map<number, RowProblem> =>
  new Map(found?.problems.map(({ index, ...problem }) => [index, problem]));
