/** Delays that make the store in memory apply transactions item by item, as DynamoDB does. */
import type { BeforeItem } from "./memory-table.ts";

/** Resolves after some turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Holds each item for as many turns as the next delay says; after the last comes the first. */
export function delayedBy(delays: readonly number[]): BeforeItem {
  let next = 0;
  return () => turns(delays[next++ % delays.length] as number);
}
