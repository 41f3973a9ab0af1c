/** Keeps one process writing the log: whoever holds the lease, again and again. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../platform/observe/log.ts";
import type { Lease } from "../../platform/ports/lease.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { withJitter } from "../../platform/work/jitter.ts";

/** A writer whose process does not answer any more is replaced after so long. */
export const writerTiming = { heartbeatMs: 3_000, deadMs: 10_000 };

/** The pause after a failure, and after many without any success in between. */
const pauses = { firstMs: 250, longestMs: 30_000 };

/** A writer that has worked for so long begins with the first pause again. */
const workedMs: Milliseconds = 60_000;

interface Writing {
  readonly lease: Lease;
  /** Writes until the signal aborts, or throws. */
  write(signal: AbortSignal): Promise<void>;
  /** Whether an error of `write` says that another process writes. */
  isStale(error: unknown): boolean;
  onWriting(isWriting: boolean): void;
  onFailed(error: unknown): void;
  readonly log: Logger;
}

/**
 * Writes whenever this process holds the lease, until the signal aborts; then gives the lease up. A
 * writer that fails begins anew after a growing pause. One that is stale gives the lease up first.
 */
export async function keepWriting(writing: Writing, signal: AbortSignal): Promise<void> {
  const { lease } = writing;
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  while (!signal.aborted) {
    const held = await Promise.race([lease.take(), aborted]);
    if (held) await writeWhile(writing, AbortSignal.any([held, signal]));
  }
  await lease.close();
}

async function writeWhile(writing: Writing, signal: AbortSignal): Promise<void> {
  const { lease, log } = writing;
  let pauseMs = pauses.firstMs;
  while (!signal.aborted) {
    const began = performance.now();
    writing.onWriting(true);
    log.info("this process writes the events");
    try {
      await writing.write(signal);
    } catch (err) {
      writing.onFailed(err);
      log.warn({ err }, "the events could not be written; trying again");
      if (writing.isStale(err)) return lease.release();
    } finally {
      writing.onWriting(false);
    }
    if (performance.now() - began > workedMs) pauseMs = pauses.firstMs;
    await sleep(withJitter(pauseMs, 0.2), undefined, { signal }).catch(() => {});
    pauseMs = Math.min(2 * pauseMs, pauses.longestMs);
  }
}
