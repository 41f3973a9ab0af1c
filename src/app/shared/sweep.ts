/** Processes many records, page by page: one that fails is named, and only an outage ends it. */
import { maxReports } from "../../contract/points.ts";
import { DomainError, type Reason } from "../../domain/errors.ts";
import type { Page } from "../ports/pages.ts";

/** While the store or the clock is away, every record fails with one of these reasons. */
export const storeOutages: ReadonlySet<Reason> = new Set(["STORE_UNAVAILABLE", "CLOCK_OFF"]);

/** The place at which a sweep continues. Heartbeats contain it as JSON, so no name may change. */
export interface SweepPlace<Name> {
  /** The cursor of the page; absent for the first one. */
  readonly cursor?: string;
  /** The records of that page that are done, when an outage ended a sweep within the page. */
  readonly done?: readonly Name[];
}

/** The counts of every sweep, as plain JSON. */
export interface SweepCounts<Name> {
  readonly failed: number;
  /** The first 100 that failed, each with a reason of `src/domain/errors.ts` or INTERNAL. */
  readonly failures: readonly (Name & { readonly reason: string })[];
}

/** What is done with the records. `Name` identifies one as plain JSON, such as `{ userId }`. */
interface Sweep<T, Name, Outcome, Counts> {
  /** Reads the page at a cursor; undefined for the first page. Its error ends the sweep. */
  read(cursor: string | undefined): Promise<Page<T>>;
  /**
   * Processes a record; may be called again for it. A long record that is alone on its page gives
   * cursors inside itself to `checkpoint`, and returns at once when that returns false.
   */
  process(record: T, checkpoint: (cursor: string) => boolean): Promise<Outcome>;
  add(counts: Counts, outcome: Outcome): Counts;
  nameOf(record: T): Name;
  /** Logs a record that failed. */
  onFailed(name: Name, error: unknown): void;
  readonly concurrency: number;
  /** The reasons of an outage, which concerns all records. */
  readonly outages: ReadonlySet<Reason>;
  /**
   * So many failures one after another with such a reason are an outage. After fewer, the record
   * is processed again. 1 when a call below has retried it long enough.
   */
  readonly outageAfter: number;
}

/**
 * Processes the records from a place on and adds to `start`, until `shouldContinue` returns false.
 * It is called with the progress after every page and checkpoint. When an outage ends the sweep,
 * it is called with the progress within the page before the error is thrown.
 */
export async function sweep<T, Name extends object, Outcome, Counts extends SweepCounts<Name>>(
  work: Sweep<T, Name, Outcome, Counts>,
  start: Counts,
  { cursor: from, done = [] }: SweepPlace<Name>,
  shouldContinue: (progress: Counts & SweepPlace<Name>) => boolean,
): Promise<Counts & { readonly cursor?: string }> {
  const { read, process, add, nameOf, onFailed, outages } = work;
  let counts = start;
  let cursor = from;
  let isStopped = false;
  const progress = () => ({ ...counts, ...(cursor !== undefined && { cursor }) });
  const checkpoint = (within: string) => {
    cursor = within;
    isStopped = !shouldContinue(progress());
    return !isStopped;
  };
  const processOne = async (record: T) => {
    try {
      const outcome = await process(record, checkpoint);
      counts = add(counts, outcome);
    } catch (error) {
      const reason = error instanceof DomainError ? error.reason : "INTERNAL";
      if (reason !== "INTERNAL" && outages.has(reason)) throw error;
      onFailed(nameOf(record), error);
      const failures = [...counts.failures, { ...nameOf(record), reason }].slice(0, maxReports);
      counts = { ...counts, failed: counts.failed + 1, failures };
    }
  };
  let past = new Set(done.map((name) => JSON.stringify(name)));
  for (;;) {
    const page = await read(cursor);
    const left = new Set(page.items.filter((item) => !past.has(JSON.stringify(nameOf(item)))));
    try {
      await processAll(left, work, processOne);
    } catch (outage) {
      const done = page.items.filter((record) => !left.has(record)).map(nameOf);
      shouldContinue({ ...progress(), ...(done.length > 0 && { done }) });
      throw outage;
    }
    if (isStopped) return progress();
    cursor = page.cursor;
    past = new Set();
    if (cursor === undefined || !shouldContinue(progress())) return progress();
  }
}

/** Removes each record that was processed from `left`. Throws the error of an outage. */
async function processAll<T>(
  left: Set<T>,
  { concurrency, outageAfter }: { readonly concurrency: number; readonly outageAfter: number },
  processOne: (record: T) => Promise<void>,
): Promise<void> {
  const queue = [...left];
  let failuresInARow = 0;
  let outage: unknown;
  const processNext = async () => {
    while (outage === undefined) {
      const record = queue.shift();
      if (record === undefined) return;
      try {
        await processOne(record);
        left.delete(record);
        failuresInARow = 0;
      } catch (error) {
        queue.push(record);
        failuresInARow += 1;
        if (failuresInARow === outageAfter) outage = error;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, processNext));
  if (outage !== undefined) throw outage;
}
