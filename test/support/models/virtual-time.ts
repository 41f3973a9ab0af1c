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

/**
 * Runs `work` in virtual time that jumps to the next timer, so that hours without work cost
 * nothing. `Date` is virtual, too, and begins at `start`. All pauses have to use the global
 * `setTimeout`.
 */
export async function inJumpingTime<T>(start: number, work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({
    now: start,
    toFake: ["Date", "performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
  });
  let isOver = false;
  const pass = (turn: number) => {
    if (isOver) return;
    // The turns between are for work that takes some, such as parsing a sheet.
    if (turn % turnsOfWork === 0) vi.advanceTimersToNextTimer();
    nextTurn(pass, turn + 1);
  };
  try {
    nextTurn(pass, 1);
    return await work();
  } finally {
    isOver = true;
    vi.useRealTimers();
  }
}

const turnsOfWork = 3;
