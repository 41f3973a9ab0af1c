/** Connects a worker to a Temporal that may be away at first. */
import { setTimeout as sleep } from "node:timers/promises";
import { NativeConnection, type NativeConnectionOptions } from "@temporalio/worker";
import type { Logger } from "../platform/observe/log.ts";

const pauseMs = 1_000;

/** Where Temporal is. The API key may be replaced while the connection is open. */
interface Endpoint extends Pick<NativeConnectionOptions, "tls"> {
  readonly address: string;
  readonly apiKey?: ChangingKey;
}

interface ChangingKey {
  current(): string;
  /** Calls `listener` with each new key. */
  onChange(listener: (key: string) => void): void;
}

/** Tries every second until Temporal answers. Undefined when `signal` aborts before that. */
export async function awaitConnection(
  { apiKey, ...endpoint }: Endpoint,
  log: Logger,
  signal: AbortSignal,
): Promise<NativeConnection | undefined> {
  async function connect(): Promise<NativeConnection> {
    if (apiKey === undefined) return NativeConnection.connect(endpoint);
    const connection = await NativeConnection.connect({ ...endpoint, apiKey: apiKey.current() });
    apiKey.onChange((key) => void connection.setApiKey(key));
    // It may have changed while the connection was opened.
    await connection.setApiKey(apiKey.current());
    return connection;
  }
  while (!signal.aborted) {
    try {
      return await connect();
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
