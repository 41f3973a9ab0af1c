/** Runs work that no answer waits for, such as signals to Temporal. */
import pLimit from "p-limit";
import pRetry from "p-retry";
import type { Logger } from "../observe/log.ts";
import { describeError } from "../ports/described-errors.ts";
import { createCounter, type Tallies } from "../ports/tallies.ts";
import { DomainError } from "../words/errors.ts";

/** How many tasks run at once: more would only queue in Temporal's server. */
const concurrency = 32;

/** How many tasks may wait. With more, Temporal is away, and the reconciler does dropped tasks. */
const maxWaiting = 10_000;

interface BackgroundTasks {
  readonly run: (task: () => Promise<void>) => void;
  /** How many were not done: too many waited, or all attempts have failed. */
  readonly dropped: Tallies["droppedTasks"];
  /** Runs all tasks that wait to their end, but retries none of them any more. */
  close(): Promise<void>;
}

/**
 * Runs up to 32 tasks at once, and retries a task for some seconds when it fails with a retryable
 * reason. Logs a task that fails for good: the reconciler and the hourly check of the schedules
 * later do what it has not done.
 */
export function createBackgroundTasks(log: Logger): BackgroundTasks {
  const limit = pLimit(concurrency);
  const closing = new AbortController();
  const pending = new Set<Promise<void>>();
  const dropped = createCounter(
    "meguri_background_tasks_dropped_total",
    "Background tasks that were not done: too many waited, or all attempts have failed.",
  );

  async function runWithRetries(task: () => Promise<void>): Promise<void> {
    try {
      await pRetry(task, {
        retries: 5,
        minTimeout: 200,
        randomize: true,
        shouldRetry: ({ error }) =>
          error instanceof DomainError && error.retryable && !closing.signal.aborted,
      });
    } catch (error) {
      dropped.inc();
      const err = describeError(error);
      log.warn({ err }, "background task failed; a scheduled workflow will do it");
    }
  }

  return {
    run(task) {
      if (limit.pendingCount >= maxWaiting) {
        dropped.inc();
        log.warn("background task dropped, too many wait; a scheduled workflow will do it");
        return;
      }
      const done = limit(() => runWithRetries(task)).finally(() => pending.delete(done));
      pending.add(done);
    },
    dropped,
    async close() {
      closing.abort();
      await Promise.all(pending);
    },
  };
}
