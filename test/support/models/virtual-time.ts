/** Virtual time, which passes with the turns of the event loop, for tests without I/O. */
import { vi } from "vitest";

const nextTurn = setImmediate;

/**
 * Runs `work` while each turn of the event loop is one millisecond. The same work then takes the
 * same time on every machine, and pauses cost next to nothing. The engine's pauses have to use the
 * global `setTimeout`, and every request has to take at least a millisecond, or no time passes.
 */
export async function inVirtualTime<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({
    toFake: ["performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
  });
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
