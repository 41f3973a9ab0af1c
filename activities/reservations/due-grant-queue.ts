/** The queue of due grants: in a burst, each has an answer from the store in time. */
import pLimit from "p-limit";
import type { Milliseconds } from "../../src/platform/words/units.ts";
import { grantTiming } from "../../workflows/timing.ts";

const { leastAtOnce, mostAtOnce, slowMs, longMs, deferMs } = grantTiming;

export interface DueGrantQueue {
  /**
   * Runs work when it comes to the head of the queue. The next work begins when one has ended, or
   * when it has taken four times as long as others and `longMs`: a hot account or a store that
   * hangs does not hold up the rest.
   */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Waits while work is queued, until all of it has ended: at most `mostMs`, and 20 s. */
  untilAllEnded(mostMs: Milliseconds): Promise<void>;
}

/**
 * Does as much work at a time as keeps it quick. When even the quickest one of a number of works
 * was slow, this process or the store is, and more at a time would only let requests time out:
 * then it does half as many at a time, and otherwise twice as many.
 */
export function createDueGrantQueue(): DueGrantQueue {
  const limit = pLimit(leastAtOnce);
  let unendedWorks = 0;
  let endedWorks = 0;
  let quickestMs = Number.POSITIVE_INFINITY;
  let tooLongMs: Milliseconds = longMs;
  let allEnded: PromiseWithResolvers<void> | undefined;

  function adapt(tookMs: Milliseconds): void {
    endedWorks += 1;
    quickestMs = Math.min(quickestMs, tookMs);
    if (endedWorks < limit.concurrency) return;
    tooLongMs = Math.max(longMs, 4 * quickestMs);
    limit.concurrency =
      quickestMs > slowMs
        ? Math.max(leastAtOnce, limit.concurrency / 2)
        : Math.min(mostAtOnce, limit.concurrency * 2);
    endedWorks = 0;
    quickestMs = Number.POSITIVE_INFINITY;
  }

  return {
    run<T>(work: () => Promise<T>) {
      const { promise, resolve } = Promise.withResolvers<T>();
      unendedWorks += 1;
      void limit(async () => {
        const start = performance.now();
        const working = work();
        resolve(working);
        await ended(working, tooLongMs);
        adapt(performance.now() - start);
        unendedWorks -= 1;
        if (unendedWorks > 0) return;
        allEnded?.resolve();
        allEnded = undefined;
      });
      return promise;
    },
    async untilAllEnded(mostMs) {
      if (limit.pendingCount === 0) return;
      allEnded ??= Promise.withResolvers();
      await ended(allEnded.promise, Math.min(deferMs, mostMs));
    },
  };
}

/** Waits until work has ended in any way, but not longer than `limitMs`. */
async function ended(work: Promise<unknown>, limitMs: Milliseconds): Promise<void> {
  const { promise: isLong, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work.catch(() => {}), isLong]);
  clearTimeout(timer);
}
