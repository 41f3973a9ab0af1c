/** Limits how long a stream waits for the next message of its client. */

/**
 * Passes messages on. Throws the error of `tooSlow` when the client sends none within `idleMs`, and
 * the reason of `signal` when it aborts.
 */
export async function* withIdleLimit<T>(
  messages: AsyncIterable<T>,
  signal: AbortSignal,
  idleMs: number,
  tooSlow: () => Error,
): AsyncGenerator<T, void> {
  const iterator = messages[Symbol.asyncIterator]();
  try {
    for (;;) {
      const result = await nextWithin(iterator, signal, idleMs, tooSlow);
      if (result.done) break;
      yield result.value;
    }
  } finally {
    // Not awaited: while the client sends nothing, it does not return.
    void iterator.return?.().catch(() => undefined);
  }
}

/** The next message. Its promises end with it, so that no earlier message stays referenced. */
function nextWithin<T>(
  iterator: AsyncIterator<T>,
  signal: AbortSignal,
  idleMs: number,
  tooSlow: () => Error,
): Promise<IteratorResult<T>> {
  const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T>>();
  if (signal.aborted) return Promise.reject(signal.reason);
  const stop = () => reject(signal.reason);
  const timer = setTimeout(() => reject(tooSlow()), idleMs);
  signal.addEventListener("abort", stop);
  iterator.next().then(resolve, reject);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  });
}
