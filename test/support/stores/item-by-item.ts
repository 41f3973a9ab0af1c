/** Delays that make the store in memory apply transactions item by item, as DynamoDB does. */
import type { BeforeItem } from "./memory-table.ts";

/** By the timers of the moment, which may be faked. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** Holds each item for as many milliseconds as the next delay says; after the last, the first. */
export function delayedBy(delays: readonly number[]): BeforeItem {
  let next = 0;
  return () => pause(delays[next++ % delays.length] as number);
}
