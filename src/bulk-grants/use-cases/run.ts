/** Executes the rows of a bulk grant block by block, and ends the run. */
import pLimit from "p-limit";
import { allPages, inBatches } from "../../platform/ports/pages.ts";
import { changeRecord } from "../../platform/work/change-record.ts";
import { isSameRequest } from "../../platform/work/idempotency.ts";
import type { BlockCheck, BlockOutcome, BlockProblem } from "../ports/bulk-grants.ts";
import type { Deps } from "../ports/deps.ts";
import { blockOutcomeRef } from "../ports/records.ts";
import {
  type BulkGrant,
  type BulkGrantName,
  isRecountDue,
  type RunCounts,
} from "../rules/bulk-grant.ts";
import { finish, recount } from "../rules/bulk-grant-changes.ts";
import { maxSheetBlocks, type RowCode, rowsPerBlock, type SheetRow } from "../rules/sheet.ts";
import { changeBulkGrant, readBulkGrant } from "./bulk-grant-record.ts";
import { executeRow, hashOfRow, rowEventKey, rowRecords } from "./execute-row.ts";
import { RunLease, underLease } from "./run-lease.ts";
import { readStoredBlock } from "./stored-block.ts";
import type { BlockRange, RangeProgress } from "./validate-blocks.ts";

/**
 * The number of rows of a block that are executed concurrently. With four ranges of blocks and
 * transactions of 10 ms it is enough for 1,600 rows a second; more would only wait in a slow store,
 * and delay the grants of reservations.
 */
const concurrency = 4;

/**
 * The number of rows whose records are read together. At the default row rate they are executed
 * within the second for which the engine keeps what it has read.
 */
const readTogether = 25;

/** The number of blocks whose outcomes are corrected concurrently at the end of a run. */
const blocksAtOnce = 4;

type RunDeps = Pick<Deps, "engine" | "readAhead" | "reader" | "programs" | "awaitRowSlot">;

/** A range of blocks in one run. */
type RunRange = BlockRange & { readonly run: number };

/** The progress of the work on a range; the counts of all blocks are in the store. */
export type RunProgress = RangeProgress &
  Pick<RunCounts, "grantedCount" | "grantedPoints" | "failedCount">;

/**
 * Executes the blocks of a range until `shouldContinue` returns false. A cancellation stops the
 * work within two seconds, a pause after the blocks under way. A block that this run has done
 * already is skipped, and a row that is granted already is granted once. `onBlock` is called with
 * what this call has added to the outcome of a block. May be repeated. Throws STORE_UNAVAILABLE and
 * other errors that concern all rows.
 */
export async function runBlocks(
  deps: RunDeps,
  range: RunRange,
  shouldContinue: (progress: RunProgress & { readonly next: number }) => boolean,
  onFailed: (userId: string, error: unknown) => void,
  onBlock: (outcome: BlockOutcome) => void = () => {},
): Promise<RunProgress> {
  const lease = new RunLease(
    () => readBulkGrant(deps, range),
    (bulkGrant) => goesOn(bulkGrant, range),
  );
  return underLease(lease, async () => {
    let counts = { grantedCount: 0, grantedPoints: 0, failedCount: 0 };
    for (let block = range.from; block < range.to; ) {
      // A pause stops the next block, so what the lease has read before is not enough.
      await lease.renew();
      const bulkGrant = await lease.hold();
      const outcome =
        bulkGrant && !bulkGrant.pause
          ? await runBlock(deps, bulkGrant, block, lease, onFailed, onBlock)
          : undefined;
      if (!outcome) return { ...counts, next: block, stopped: true };
      counts = {
        grantedCount: counts.grantedCount + outcome.grantedCount,
        grantedPoints: counts.grantedPoints + outcome.grantedPoints,
        failedCount: counts.failedCount + outcome.failures.length,
      };
      block += 1;
      if (block < range.to && !shouldContinue({ ...counts, next: block })) {
        return { ...counts, next: block };
      }
    }
    return counts;
  });
}

/** Whether the rows of the run may still be sent. A pause does not stop a block under way. */
const goesOn = (bulkGrant: BulkGrant, { revision, run }: RunRange): boolean =>
  bulkGrant.state === "RUNNING" &&
  bulkGrant.run === run &&
  bulkGrant.revision.number === revision &&
  !bulkGrant.cancelRequest;

/** Executes the rows that are left of a block. Undefined when the run was over before its end. */
async function runBlock(
  deps: RunDeps,
  bulkGrant: BulkGrant,
  block: number,
  lease: RunLease,
  onFailed: (userId: string, error: unknown) => void,
  onBlock: (outcome: BlockOutcome) => void,
): Promise<BlockOutcome | undefined> {
  const { revision, run } = bulkGrant;
  const { rows, before, left } = await readBlock(deps, revision.uploadId, block);
  if (before?.run === run) return before;
  const limit = pLimit(concurrency);
  const rowsLeft = left.map((index) => rows[index] as SheetRow);
  const awaitRead = createReadAhead(deps, bulkGrant, rowsLeft);
  const results = await Promise.allSettled(
    rowsLeft.map((row, i) =>
      limit(async () => {
        if (!(await lease.hold())) return undefined;
        await awaitRead(i);
        return executeRow(deps, bulkGrant, row, lease, onFailed);
      }),
    ),
  );
  let [grantedCount, grantedPoints] = [0, 0];
  const failures: BlockProblem[] = [];
  for (const [i, result] of results.entries()) {
    if (result.status === "rejected") throw result.reason;
    const { value } = result;
    if (!value) return undefined;
    if ("code" in value) failures.push({ index: left[i] as number, ...value });
    else [grantedCount, grantedPoints] = [grantedCount + 1, grantedPoints + value.points];
  }
  const outcome = { run, grantedCount, grantedPoints, failures };
  return lease.decided(async () => {
    const kept = await changeOutcome(deps, revision.uploadId, block, (existing) =>
      lease.isHeld ? addOutcome(existing, outcome) : existing,
    );
    if (!kept || kept.run < run) return undefined;
    onBlock(outcome);
    return kept;
  });
}

/**
 * Returns a function that waits until the records of a row, by its number, are read. The first row
 * of a group reads them for the whole group, in one request instead of one for each row. The event
 * key is among them: after the death of a worker, the rows that it has granted cost no write.
 */
function createReadAhead(
  { readAhead }: Pick<Deps, "readAhead">,
  bulkGrant: BulkGrant,
  rows: readonly SheetRow[],
): (row: number) => Promise<void> {
  const requests = rows.map((row) => {
    const { account, readSet, eventKey } = rowRecords(bulkGrant, bulkGrant.revision, row);
    return { key: account, readSet: [...readSet, eventKey] };
  });
  const groups = inBatches(requests, readTogether);
  const reads: Promise<void>[] = [];
  return (row) => {
    const group = Math.floor(row / readTogether);
    reads[group] ??= readAhead(groups[group] ?? []);
    return reads[group];
  };
}

/** Reads a block, and which of its rows are not granted: by index. */
async function readBlock(
  deps: Pick<Deps, "reader">,
  uploadId: string,
  block: number,
): Promise<{
  readonly rows: readonly SheetRow[];
  readonly before: BlockOutcome | undefined;
  readonly left: readonly number[];
}> {
  const { rows, check, outcome: before } = await readStoredBlock(deps, uploadId, block);
  return { rows, before, left: before?.failures.map(({ index }) => index) ?? toGrant(rows, check) };
}

const toGrant = (rows: readonly SheetRow[], check: BlockCheck | undefined): number[] => {
  const granted = new Set(check?.alreadyGranted);
  return [...rows.keys()].filter((index) => !granted.has(index));
};

/** Adds what a run has done with a block, unless this run or a later one has done it. */
function addOutcome(before: BlockOutcome | undefined, outcome: BlockOutcome): BlockOutcome {
  if (!before) return outcome;
  if (before.run >= outcome.run) return before;
  return {
    ...outcome,
    grantedCount: before.grantedCount + outcome.grantedCount,
    grantedPoints: before.grantedPoints + outcome.grantedPoints,
  };
}

async function changeOutcome<R extends BlockOutcome | undefined>(
  deps: Pick<Deps, "engine">,
  uploadId: string,
  block: number,
  change: (before: BlockOutcome | undefined) => R,
): Promise<R> {
  return (await changeRecord(deps, { ref: blockOutcomeRef(uploadId, block) }, change)).record;
}

/**
 * Ends a run with the counts of all blocks. Before that it reads the event keys of all rows that
 * are not known as granted: an attempt that Temporal had given up may have granted one meanwhile,
 * and a cancelled run has unfinished blocks. A cancelled run is counted after `awaitLateRows`,
 * which takes at least `lateRowsMs`, and once more when its counts are to be final. A run that is
 * not cancelled goes on as it is while a block has no outcome of it.
 */
export async function finishRun(
  deps: Pick<Deps, "engine" | "reader" | "clock">,
  name: BulkGrantName,
  run: number,
  awaitLateRows: () => Promise<void>,
): Promise<BulkGrant> {
  const bulkGrant = await readBulkGrant(deps, name);
  const { wall } = await deps.clock.now();
  const isRecount = isRecountDue(bulkGrant, wall);
  if ((bulkGrant.state !== "RUNNING" && !isRecount) || bulkGrant.run !== run) return bulkGrant;
  if (bulkGrant.cancelRequest) await awaitLateRows();
  const blocks = Math.ceil(bulkGrant.revision.rowCount / rowsPerBlock);
  const limit = pLimit(blocksAtOnce);
  const isCancelled = isRecount || bulkGrant.cancelRequest !== undefined;
  const isOver = await Promise.all(
    Array.from({ length: blocks }, (_, block) =>
      limit(() => storeBlockOutcome(deps, bulkGrant, block, isCancelled)),
    ),
  );
  if (isOver.includes(false)) return bulkGrant;
  const result = await countOutcomes(deps, bulkGrant);
  // Decided before the count: what was counted before the due time is not taken as final.
  const end = isRecount ? recount : finish;
  const { record } = await changeBulkGrant(deps, name, (before, now) =>
    end(before, run, result, now),
  );
  return record;
}

/**
 * Corrects the outcome of a block by the event keys of its rows. Returns false while a run that is
 * not cancelled has not executed the block: an outcome written here would keep it from the rows.
 */
async function storeBlockOutcome(
  deps: Pick<Deps, "engine" | "reader">,
  { programId, bulkGrantId, revision, run }: BulkGrant,
  block: number,
  isCancelled: boolean,
): Promise<boolean> {
  const { uploadId } = revision;
  const { rows, before, left } = await readBlock(deps, uploadId, block);
  if (before?.run !== run && !isCancelled) return false;
  const keys = left.map((index) =>
    rowEventKey(programId, bulkGrantId, (rows[index] as SheetRow).userId),
  );
  const events = await deps.reader.many(keys);
  const granted = new Map(
    left.flatMap((index, i) => {
      const event = events[i];
      const hash = hashOfRow(rows[index] as SheetRow, revision);
      return event && isSameRequest(event.hash, hash) ? [[index, event.entry.points] as const] : [];
    }),
  );
  if (granted.size === 0) return true;
  const problems = before?.failures ?? left.map((index) => ({ index, code: "NOT_RUN" as const }));
  const corrected: BlockOutcome = {
    run,
    grantedCount: (before?.grantedCount ?? 0) + granted.size,
    grantedPoints: [...granted.values()].reduce((a, b) => a + b, before?.grantedPoints ?? 0),
    failures: problems.filter(({ index }) => !granted.has(index)),
  };
  // The number of granted rows only grows, so an attempt that was stopped before may have fewer.
  const knowsMore = (existing: BlockOutcome) =>
    existing.run > run || existing.grantedCount > corrected.grantedCount;
  await changeOutcome(deps, uploadId, block, (existing) =>
    existing && knowsMore(existing) ? existing : corrected,
  );
  return true;
}

/** Sums up what the runs over the current revision have done so far. */
export async function countOutcomes(
  { reader }: Pick<Deps, "reader">,
  { revision, checked }: BulkGrant,
): Promise<RunCounts> {
  let [grantedCount, grantedPoints, failedCount] = [0, 0, 0];
  const problemCounts: Partial<Record<RowCode, number>> = {};
  const read = (page: Parameters<typeof reader.blockOutcomes>[1]) =>
    reader.blockOutcomes(revision.uploadId, page);
  for await (const outcomes of allPages(maxSheetBlocks, read)) {
    for (const outcome of outcomes) {
      grantedCount += outcome.grantedCount;
      grantedPoints += outcome.grantedPoints;
      for (const { code } of outcome.failures) {
        if (code === "NOT_RUN") continue;
        failedCount += 1;
        problemCounts[code] = (problemCounts[code] ?? 0) + 1;
      }
    }
  }
  const alreadyGrantedCount = checked?.alreadyGrantedCount ?? 0;
  const notRunCount = revision.rowCount - alreadyGrantedCount - grantedCount - failedCount;
  return { grantedCount, grantedPoints, failedCount, notRunCount, problemCounts };
}
