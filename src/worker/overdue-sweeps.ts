/** Executes what is overdue, again and again, in each worker and without Temporal. */
import { setTimeout as sleep } from "node:timers/promises";
import type { OverdueFound } from "../app/ports/observers.ts";
import type { Logger } from "../log.ts";

/** The mean pause after a sweep, in ms, and by which share of it pauses vary. */
export const sweepPause = { meanMs: 5_000, jitter: 0.4 };

interface Sweeps {
  /** Executes what is overdue now. Ends early when `signal` aborts. */
  sweep(signal: AbortSignal): Promise<unknown>;
  /** Called with undefined when a sweep has failed. */
  onOverdue(found: OverdueFound | undefined): void;
  readonly log: Logger;
}

/**
 * Sweeps until `signal` aborts: at once, because a worker mostly starts where another one has
 * ended, and then after each pause. A sweep that fails is logged, and the next one does its work.
 */
export async function sweepOverdue(
  { sweep, onOverdue, log }: Sweeps,
  signal: AbortSignal,
  { meanMs, jitter } = sweepPause,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sweep(signal);
    } catch (err) {
      onOverdue(undefined);
      log.warn({ err }, "overdue reservations and holds are left to the next sweep");
    }
    const pauseMs = meanMs * (1 + jitter * (2 * Math.random() - 1));
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}
