/** A property of bulk grants that are cancelled while attempts at their rows are under way. */
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import fc from "fast-check";
import { getBulkGrant, listRows } from "../../../src/app/bulk-grants/queries.ts";
import { finishRun, runBlocks } from "../../../src/app/bulk-grants/run.ts";
import { lateRowsMs } from "../../../src/app/bulk-grants/run-lease.ts";
import type { Deps, Reader } from "../../../src/app/ports/deps.ts";
import { requestMs } from "../../../src/app/ports/engine.ts";
import type { Kind } from "../../../src/app/ports/records.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { openStore, start, submit, validate } from "../fixtures/bulk-steps.ts";
import { allItems } from "../fixtures/pages.ts";
import type { MemoryStore } from "../stores/memory-store.ts";
import { answerTo, programId } from "./bulk-use-cases.ts";
import { inVirtualTime } from "./virtual-time.ts";

/** An attempt at the rows, as a worker makes it that may have lost Temporal, but not the store. */
interface Attempt {
  readonly startMs: number;
  /** The time between two of its rows. */
  readonly rowMs: number;
  /** It stops before this row, for so long. */
  readonly stalls: { readonly row: number; readonly ms: number };
  /** How long its reads of the record take, from the second one on. */
  readonly recordMs: number;
}

/** A bulk grant of one block, its attempts, and when it is cancelled. All times are in ms. */
interface CancelledRun {
  readonly rowCount: number;
  readonly attempts: readonly Attempt[];
  readonly cancelMs: number;
  /** How long the engine's requests take that read and write the records of rows. */
  readonly readMs: number;
  readonly commitMs: number;
}

const attempt: fc.Arbitrary<Attempt> = fc.record({
  startMs: fc.nat(1_500),
  rowMs: fc.constantFrom(0, 10, 40),
  stalls: fc.record({ row: fc.nat(100), ms: fc.constantFrom(0, 0, 1_500, 4_000, 15_000) }),
  recordMs: fc.constantFrom(0, 0, 1_500, 15_000),
});

const requestTime = fc.constantFrom(1, 1, 20, 1_500, requestMs - 100);

const cancelledRun: fc.Arbitrary<CancelledRun> = fc.record({
  rowCount: fc.integer({ min: 1, max: 250 }),
  attempts: fc.array(attempt, { minLength: 1, maxLength: 3 }),
  cancelMs: fc.nat(3_000),
  readMs: requestTime,
  commitMs: requestTime,
});

const name = { programId, bulkGrantId: "b" };

/** Nothing is granted after the record says CANCELLED, and it counts what was granted. */
export const cancelledRuns = fc.asyncProperty(cancelledRun, (run) =>
  inVirtualTime(async () => {
    await playCancelledRun(run);
  }),
);

/** Returns how many rows were granted. */
export async function playCancelledRun(run: CancelledRun): Promise<number> {
  const { deps, process, store } = await openStore();
  const users = Array.from({ length: run.rowCount }, (_, i) => [`u${i}`, 10] as const);
  await submit(deps, "b", Object.fromEntries(users));
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  store.latencyMs = 1;
  store.arriving = async ({ op, refs, writes }) => {
    const isOfRows = [...refs, ...writes.map(({ ref }) => ref)].some(({ kind }) =>
      rowKinds.includes(kind),
    );
    if (isOfRows) await pause((op === "commit" ? run.commitMs : run.readMs) - 1);
    return undefined;
  };
  const attempts = run.attempts.map(async (each) => {
    await pause(each.startMs);
    const deps = process();
    const worker = { ...deps, awaitRowSlot: slotsOf(each), reader: readerOf(deps, each) };
    const range = { ...name, revision: 1, run: 1, from: 0, to: 1 };
    await runBlocks(worker, range, () => true, fail).catch(isRetryable);
  });
  await pause(run.cancelMs);
  const other = process();
  await answerTo(other, { op: "cancel", id: "b", by: "ben" });
  await finishRun(other, name, 1, () => pause(lateRowsMs));
  const granted = countGranted(store);
  const ended = await getBulkGrant(other, name);
  strictEqual(ended.bulkGrant.state, granted === run.rowCount ? "DONE" : "CANCELLED");
  const { result } = ended.bulkGrant;
  deepStrictEqual([result?.grantedCount, result?.grantedPoints], [granted, granted * 10]);
  deepStrictEqual([result?.notRunCount, result?.failedCount], [run.rowCount - granted, 0]);
  await Promise.all(attempts);
  strictEqual(countGranted(store), granted);
  deepStrictEqual(await getBulkGrant(other, name), ended);
  const rows = await allItems((page) => listRows(other, name, { state: "GRANTED" }, page), 100);
  strictEqual(rows.length, granted);
  return granted;
}

const rowKinds: readonly Kind[] = ["account", "event"];

/** An attempt may end with an error of a slow store; Temporal would make another one. */
function isRetryable(error: unknown): void {
  ok(error instanceof DomainError && error.retryable, String(error));
}

const countGranted = (store: MemoryStore): number =>
  Object.keys(store.dump()).filter((record) => record.startsWith("event#")).length;

/** The slots of a worker's rows: one after another, and a late one. */
export function slotsOf({ rowMs, stalls }: Pick<Attempt, "rowMs" | "stalls">) {
  let row = 0;
  let last = Promise.resolve();
  return (): Promise<void> => {
    const ms = rowMs + (row === stalls.row ? stalls.ms : 0);
    row += 1;
    last = last.then(() => pause(ms));
    return last;
  };
}

/** Reads the record, and answers late. */
function readerOf({ reader }: Deps, { recordMs }: Attempt): Reader {
  let reads = 0;
  return {
    ...reader,
    async get(ref) {
      const found = await reader.get(ref);
      reads += 1;
      if (reads > 1) await pause(recordMs);
      return found;
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const fail = (userId: string, error: unknown) => {
  ok(false, `the row of ${userId} has failed: ${error}`);
};
