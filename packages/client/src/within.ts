/** Limits how long a caller waits for a promise. */
import { Code, ConnectError } from "@connectrpc/connect";

/** Throws UNAVAILABLE with this text after `ms`, and CANCELED when the signal is aborted. */
export async function within<T>(
  promise: Promise<T>,
  ms: number,
  text: string,
  signal?: AbortSignal,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const limit = new Promise<never>((_, reject) => {
    onAbort = () => reject(ConnectError.from(signal?.reason, Code.Canceled));
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort);
    if (ms === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(() => reject(new ConnectError(text, Code.Unavailable)), ms);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
