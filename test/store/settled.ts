import { vi } from "vitest";

/** Lets faked time pass from timer to timer until `promise` settles. */
export async function settled<T>(promise: Promise<T>): Promise<T> {
  let waits = true;
  const over = promise.finally(() => {
    waits = false;
  });
  over.catch(() => undefined);
  while (waits) await vi.advanceTimersToNextTimerAsync();
  return over;
}
