/** Writes the log while this process holds the lease, and begins again after a failure. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../platform/observe/log.ts";
import type { Lease } from "../../platform/ports/lease.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { retryDelay } from "../../platform/work/jitter.ts";

/** A writer whose process does not answer any more is replaced after so long. */
export const writerTiming = { heartbeatMs: 3_000, deadMs: 10_000 };

/** The failures of a writer that has worked for so long are counted anew. */
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
  for (let failures = 1; !signal.aborted; failures++) {
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
    if (performance.now() - began > workedMs) failures = 1;
    await sleep(retryDelay(failures), undefined, { signal }).catch(() => {});
  }
}
