/** A property of bulk grants that are cancelled while attempts at their rows are under way. */
import { deepStrictEqual, fail as failed, ok, strictEqual } from "node:assert";
import fc from "fast-check";
import { readBulkGrant } from "../../../src/bulk-grants/use-cases/bulk-grant-record.ts";
import { getBulkGrant, listRows } from "../../../src/bulk-grants/use-cases/queries.ts";
import { finishRun, runBlocks } from "../../../src/bulk-grants/use-cases/run.ts";
import { lateRowsMs } from "../../../src/bulk-grants/use-cases/run-lease.ts";
import type { Deps, Reader } from "../../../src/hub/deps.ts";
import { requestMs } from "../../../src/platform/ports/engine.ts";
import type { Kind } from "../../../src/platform/ports/records.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { lateEntriesMs } from "../../../src/points/rules/ledger.ts";
import { openStore, start, submit, validate } from "../fixtures/bulk-steps.ts";
import { allItems } from "../fixtures/pages.ts";
import type { MemoryStore, Request, SettableClock } from "../stores/memory-store.ts";
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
  /** The rows whose commits the network holds until the run is counted. */
  readonly heldRows: readonly number[];
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
  heldRows: fc.array(fc.nat(249), { maxLength: 3 }),
});

const name = { programId, bulkGrantId: "b" };

/**
 * After the record says CANCELLED, only what the network holds is granted. It counts what was
 * granted, at the end of the run and, with what came later, when its counts are final.
 */
export const cancelledRuns = fc.asyncProperty(cancelledRun, (run) =>
  inVirtualTime(async () => {
    await playCancelledRun(run);
  }),
);

/** Returns how many rows were granted when the run ended, and how many came later. */
export async function playCancelledRun(
  run: CancelledRun,
): Promise<{ readonly granted: number; readonly late: number }> {
  const { deps, process, store, clock } = await openStore();
  const users = Array.from({ length: run.rowCount }, (_, i) => [`u${i}`, 10] as const);
  await submit(deps, "b", Object.fromEntries(users));
  await validate(deps, "b", 1);
  await start(deps, "b", 1);
  store.latencyMs = 1;
  const held: Request[] = [];
  store.arriving = async (request) => {
    const { op, refs, writes } = request;
    const isOfRows = [...refs, ...writes.map(({ ref }) => ref)].some(({ kind }) =>
      rowKinds.includes(kind),
    );
    if (isOfRows) await pause((op === "commit" ? run.commitMs : run.readMs) - 1);
    if (!run.heldRows.some((row) => grants(request, `u${row}`))) return undefined;
    held.push(request);
    return "lost before";
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
  store.arriving = undefined;
  for (const { writes, token } of held) await store.itemStore.commit(writes, token);
  const all = countGranted(store);
  await recount(other, clock, { ...run, granted, all });
  return { granted, late: all - granted };
}

/** Counts a cancelled run again, at the time that its record says and not before. */
async function recount(
  deps: Deps,
  clock: SettableClock,
  run: Pick<CancelledRun, "rowCount"> & { readonly granted: number; readonly all: number },
): Promise<void> {
  const again = () => finishRun(deps, name, 1, () => failed("the recount waits for no lease"));
  const ended = await readBulkGrant(deps, name);
  clock.time += lateEntriesMs - 1;
  deepStrictEqual(await again(), ended);
  clock.time += 1;
  const { countsFinalTime, ...final } = await again();
  strictEqual(countsFinalTime, undefined);
  strictEqual(final.state, ended.state);
  const { result } = final;
  deepStrictEqual([result?.grantedCount, result?.grantedPoints], [run.all, run.all * 10]);
  deepStrictEqual([result?.notRunCount, result?.failedCount], [run.rowCount - run.all, 0]);
  const rows = await allItems((page) => listRows(deps, name, { state: "GRANTED" }, page), 100);
  strictEqual(rows.length, run.all);
  deepStrictEqual(await again(), final);
}

const grants = ({ op, refs }: Request, userId: string): boolean =>
  op === "commit" && refs.some(({ kind, id }) => kind === "account" && id.endsWith(`#${userId}`));

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
