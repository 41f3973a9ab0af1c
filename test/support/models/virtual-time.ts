/** Time for tests that wait for nothing outside: it passes with the turns of the event loop. */
import { vi } from "vitest";

const nextTurn = setImmediate;

/**
 * Does `work` while each turn of the event loop is one millisecond. The same work then takes the
 * same time on every machine, and pauses cost next to nothing. The engine's pauses have to go
 * through the global `setTimeout`, and every request has to take a while: time stands otherwise.
 */
export async function inVirtualTime<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  let isOver = false;
  const pass = () => {
    if (isOver) return;
    vi.advanceTimersByTime(1);
    nextTurn(pass);
  };
  try {
    nextTurn(pass);
    return await work();
  } finally {
    isOver = true;
    vi.useRealTimers();
  }
}
