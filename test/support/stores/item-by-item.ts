/** Delays with which the store in memory applies transactions item by item, as DynamoDB does. */
import type { BeforeItem } from "./memory-records.ts";

/** Waits with the global timers, which may be faked. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** Delays each item by the next number of milliseconds; after the last comes the first again. */
export function delayedBy(delays: readonly number[]): BeforeItem {
  let next = 0;
  return () => pause(delays[next++ % delays.length] as number);
}
