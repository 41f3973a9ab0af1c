/** Repeats requests that the store does not answer. */
import { setTimeout as sleep } from "node:timers/promises";
import { retryDelay } from "../../platform/work/jitter.ts";

/** Asks until there is an answer. Rejects when the signal aborts. */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  onFailure: (err: unknown) => void,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (err) {
      signal.throwIfAborted();
      onFailure(err);
      await sleep(retryDelay(failures), undefined, { signal });
    }
  }
}
