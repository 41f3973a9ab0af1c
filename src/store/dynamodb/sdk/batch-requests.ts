import { setTimeout as sleep } from "node:timers/promises";
import { DomainError } from "../../../domain/errors.ts";

/** How often what the store has left undone is sent again, and how long that waits at first. */
const maxTries = 8;
const pauseMs = 20;

/** Sends a batch of requests, by table, and again what `send` says is left of it. */
export async function untilDone<T>(
  requests: Record<string, T>,
  send: (left: Record<string, T>) => Promise<Record<string, T> | undefined>,
): Promise<void> {
  let left = requests;
  for (let tries = 1; Object.keys(left).length > 0; tries++) {
    if (tries > maxTries) {
      throw new DomainError("STORE_UNAVAILABLE", "the store left a part of a batch undone");
    }
    if (tries > 1) await sleep(pauseMs * tries * Math.random());
    left = (await send(left)) ?? {};
  }
}
