/** Lets the grants of a burst take turns, so that each has an answer from the store in time. */
import pLimit from "p-limit";
import { grantTiming } from "../workflows/timing.ts";

const { atOnce, turnMs } = grantTiming;

/**
 * Returns a function that does work when it is its turn. The next work begins when one has ended,
 * or when it has taken `turnMs`: a hot account or a store that hangs does not hold up the rest.
 */
export function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  const limit = pLimit(atOnce);
  return <T>(work: () => Promise<T>) => {
    const { promise, resolve } = Promise.withResolvers<T>();
    void limit(async () => {
      const working = work();
      resolve(working);
      await ended(working, turnMs);
    });
    return promise;
  };
}

/** Waits until work has ended in any way, but not longer than `limitMs`. */
async function ended(work: Promise<unknown>, limitMs: number): Promise<void> {
  const { promise: isLong, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work.catch(() => {}), isLong]);
  clearTimeout(timer);
}
