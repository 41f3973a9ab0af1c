/** Executes what is overdue, again and again, in each worker and without Temporal. */
import { setTimeout as sleep } from "node:timers/promises";

/** The mean pause after a sweep, in ms, and by which share of it pauses vary. */
const sweepPause = { meanMs: 1_000, jitter: 0.4 };

interface Sweeps {
  /** Executes what is overdue now, or a part of it. Ends early when `signal` aborts. */
  sweep(signal: AbortSignal): Promise<{ readonly isWhole: boolean }>;
  /** Called after each sweep, and with the error of one that has failed. */
  onSwept(error?: unknown): void;
}

/**
 * Sweeps until `signal` aborts: at once, because a worker mostly starts where another one has
 * ended, and then after each pause, or at once where something is left. A sweep that fails is left
 * to the next one.
 */
export async function sweepOverdue(
  { sweep, onSwept }: Sweeps,
  signal: AbortSignal,
  { meanMs, jitter } = sweepPause,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { isWhole } = await sweep(signal);
      onSwept();
      if (!isWhole) continue;
    } catch (error) {
      onSwept(error);
    }
    const pauseMs = meanMs * (1 + jitter * (2 * Math.random() - 1));
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}
