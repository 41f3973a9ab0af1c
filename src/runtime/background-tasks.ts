import pLimit from "p-limit";
import pRetry from "p-retry";
import { DomainError } from "../domain/errors.ts";
import type { Logger } from "../log.ts";

/** How many pieces of work are under way at once: more would only queue in Temporal's server. */
const atOnce = 32;

/** How many may wait. Beyond it Temporal is away, and the reconciler does what is dropped here. */
const maxWaiting = 10_000;

/** Work that answers do not wait for. */
interface BackgroundTasks {
  readonly run: (work: () => Promise<void>) => void;
  /** Finishes what is under way without trying again what fails, and drops nothing that waits. */
  close(): Promise<void>;
}

/**
 * Runs work a few pieces at a time, and again, for some seconds, when it fails for a reason that
 * passes. What fails for good is logged: nets behind it (the reconciler, the hourly look at the
 * schedules) do it later.
 */
export function createBackgroundTasks(log: Logger): BackgroundTasks {
  const limit = pLimit(atOnce);
  const closing = new AbortController();
  const pending = new Set<Promise<void>>();

  async function persist(work: () => Promise<void>): Promise<void> {
    try {
      await pRetry(work, {
        retries: 5,
        minTimeout: 200,
        randomize: true,
        shouldRetry: ({ error }) =>
          error instanceof DomainError && error.retryable && !closing.signal.aborted,
      });
    } catch (error) {
      log.warn({ err: error }, "background work failed; it is left to the schedules");
    }
  }

  return {
    run(work) {
      if (limit.pendingCount >= maxWaiting) {
        log.warn("too much background work waits; this piece is left to the schedules");
        return;
      }
      const done = limit(() => persist(work)).finally(() => pending.delete(done));
      pending.add(done);
    },
    async close() {
      closing.abort();
      await Promise.all(pending);
    },
  };
}
