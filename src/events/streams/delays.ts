/** Repeats requests that the store does not answer, after growing delays. */
import { setTimeout as sleep } from "node:timers/promises";
import { withJitter } from "../../platform/work/jitter.ts";

const firstMs = 250;
const longestMs = 30_000;

interface Delays {
  /** The delay before the next attempt, in ms. */
  next(): number;
  /** After a success. */
  reset(): void;
}

/** Delays from a quarter of a second to 30 s, each twice as long as the one before, with jitter. */
export function createDelays(): Delays {
  let ms = firstMs;
  return {
    next() {
      const delay = withJitter(ms, 0.5);
      ms = Math.min(2 * ms, longestMs);
      return delay;
    },
    reset() {
      ms = firstMs;
    },
  };
}

/** Asks until there is an answer. Rejects when the signal aborts. */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  onFailure: (err: unknown) => void,
  signal: AbortSignal,
): Promise<T> {
  const delays = createDelays();
  for (;;) {
    try {
      return await ask();
    } catch (err) {
      signal.throwIfAborted();
      onFailure(err);
      await sleep(delays.next(), undefined, { signal });
    }
  }
}
