/** Paces changes of the store, so that work on many records leaves throughput to calls. */
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Waits until so many changes may be made: one if left out. Waits of one pace end in the order in
 * which they began.
 */
export type Pace = (changes?: number) => Promise<void>;

/** Returns a pace of so many changes a second, evenly, because bursts would delay calls. */
export function createPace(perSecond: number): Pace {
  let next = 0;
  return async (changes = 1) => {
    const now = performance.now();
    const time = Math.max(now, next);
    next = time + (1_000 * changes) / perSecond;
    if (time > now) await sleep(time - now);
  };
}
