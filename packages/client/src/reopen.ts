/** Opens a stream again, as often as it ends or breaks. */
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { backoffMs, verdictOn } from "./retry-policy.ts";

export interface WatchOptions {
  /** Ends the watch: its loop throws a ConnectError with the code Canceled. */
  readonly signal?: AbortSignal;
  /**
   * Called when a stream or call has failed that is tried again, once until the next answer. What
   * it throws ends the watch.
   */
  readonly onBroken?: (error: ConnectError) => void;
}

/**
 * An event of a stream: a value, a note that nothing is new, the delay in ms before the next
 * stream, or a note that no stream follows.
 */
export type StreamEvent<T> =
  | { readonly value: T }
  | { readonly isKnown: true }
  | { readonly reopenMs: number }
  | { readonly isLast: true };

/**
 * Yields the values of streams that follow each other, until one says that it is the last. After a
 * stream that broke, waits before the next one, longer after each without an event in between. If
 * it had events, its server has vanished with all of its streams: then waits for a random part of
 * `returnMs` first, so that they do not come to the other servers together. Throws a refusal, and
 * CANCELED after the signal's abort.
 */
export async function* reopen<T>(
  { signal, onBroken }: WatchOptions,
  open: (signal: AbortSignal) => AsyncIterable<StreamEvent<T>>,
  returnMs = 0,
): AsyncGenerator<T, void> {
  let failures = 0;
  let isReported = false;
  for (;;) {
    // Connect does not end a stream whose loop is left, so the stream has a signal of its own.
    const stream = new AbortController();
    let waitMs: number | undefined;
    let hasEvents = false;
    const breakMs = () => (hasEvents ? returnMs * Math.random() : 0) + backoffMs(failures++);
    try {
      const all = signal ? AbortSignal.any([signal, stream.signal]) : stream.signal;
      for await (const event of open(all)) {
        failures = 0;
        isReported = false;
        hasEvents = true;
        if ("isLast" in event) return;
        if ("value" in event) yield event.value;
        else if ("reopenMs" in event) waitMs = event.reopenMs;
      }
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      if (signal?.aborted) throw error;
      // A stream ends with its token. The next one has a new token, or is refused before an event.
      if (hasEvents && error.code === Code.Unauthenticated) continue;
      const verdict = verdictOn(error);
      if (verdict.retry === "never") throw error;
      if (!isReported) onBroken?.(error);
      isReported = true;
      waitMs = verdict.leastMs + breakMs();
    } finally {
      stream.abort();
    }
    await sleepUnless(signal, waitMs ?? breakMs());
  }
}

async function sleepUnless(signal: AbortSignal | undefined, ms: number): Promise<void> {
  try {
    await sleep(ms, undefined, signal && { signal });
  } catch (aborted) {
    throw ConnectError.from(aborted, Code.Canceled);
  }
}
