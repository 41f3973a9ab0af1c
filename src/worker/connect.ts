/** Connects a worker to a Temporal that may be away at first. */
import { setTimeout as sleep } from "node:timers/promises";
import { NativeConnection, type NativeConnectionOptions } from "@temporalio/worker";
import type { Logger } from "../log.ts";

const pauseMs = 1_000;

/** Tries every second until Temporal answers. Undefined when `signal` aborts before that. */
export async function awaitConnection(
  endpoint: NativeConnectionOptions & { readonly address: string },
  log: Logger,
  signal: AbortSignal,
): Promise<NativeConnection | undefined> {
  while (!signal.aborted) {
    try {
      return await NativeConnection.connect(endpoint);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.warn(
        { address: endpoint.address, reason },
        "Temporal does not answer; trying again in 1 s",
      );
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }
  return undefined;
}
