import { setTimeout as sleep } from "node:timers/promises";
import { NativeConnection } from "@temporalio/worker";
import type { Logger } from "../log.ts";

const pauseMs = 1_000;

/** Connects as soon as Temporal is there; gives up, undefined, when `signal` says so. */
export async function connectPatiently(
  address: string,
  log: Logger,
  signal: AbortSignal,
): Promise<NativeConnection | undefined> {
  while (!signal.aborted) {
    try {
      return await NativeConnection.connect({ address });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      log.warn({ address, why }, "waiting for Temporal");
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }
  return undefined;
}
