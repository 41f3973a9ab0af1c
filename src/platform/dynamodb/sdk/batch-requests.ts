/** Sends batch requests until DynamoDB has processed all of their items. */
import { setTimeout as sleep } from "node:timers/promises";
import { throttled } from "./client.ts";

/** How often a batch is sent at most, and the unit of the growing pauses in between. */
const maxTries = 8;
const pauseMs = 20;

/**
 * Sends a batch of requests, by table. Sends the unprocessed requests that `send` returns again,
 * after a pause with jitter. DynamoDB leaves unprocessed what it throttles: throws THROTTLED after
 * 8 tries.
 */
export async function untilDone<T>(
  requests: Record<string, T>,
  send: (left: Record<string, T>) => Promise<Record<string, T> | undefined>,
): Promise<void> {
  let left = requests;
  for (let tries = 1; Object.keys(left).length > 0; tries++) {
    if (tries > maxTries) throw throttled();
    if (tries > 1) await sleep(pauseMs * tries * Math.random());
    left = (await send(left)) ?? {};
  }
}
