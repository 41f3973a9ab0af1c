/** One connection to Valkey or Redis, from its check until it breaks. It is never repaired. */
import { setTimeout as sleep } from "node:timers/promises";
import type { createClient } from "@redis/client";

/** How often the server is asked for a sign of life, and how long it may take to give one. */
const pingMs = 2_000;
const answerMs = 2_000;

/** How long connecting, with TLS, password and check, may take. */
const connectMs = 5_000;

/** Where the server is. */
export interface Endpoint {
  /** `redis://` or, with TLS, `rediss://`. */
  readonly url: string;
  /** The authorities of its certificate, as PEM. Absent: those that Node trusts. */
  readonly ca?: string | undefined;
}

/** Gets each message. Must not throw. */
type OnMessage = (message: Buffer, channel: Buffer) => void;

/** A message to be published. */
export interface Message {
  readonly channel: string;
  readonly text: string;
}

/** A connection. All promises of a broken one reject, also those of earlier calls. */
export interface Connection {
  /** Aborted when the connection has broken; the reason is an error that says why. */
  readonly broken: AbortSignal;
  publish(messages: readonly Message[]): Promise<void>;
  subscribe(channels: readonly string[]): Promise<void>;
  unsubscribe(channels: readonly string[]): Promise<void>;
  /** Breaks the connection. */
  destroy(): void;
}

/**
 * Connects, and makes sure on this channel that this user may publish and subscribe. Throws if the
 * server does not permit it, or does not answer.
 */
export async function connect(
  endpoint: Endpoint,
  checkChannel: string,
  onMessage: OnMessage,
): Promise<Connection> {
  const client = await createClientOf(endpoint);
  const breaking = new AbortController();
  const destroy = (reason: unknown) => {
    if (breaking.signal.aborted) return;
    breaking.abort(reason);
    client.destroy();
  };
  client.on("error", destroy);
  const connection: Connection = {
    broken: breaking.signal,
    // The client sends the commands of one turn of the event loop together.
    async publish(messages) {
      await Promise.all(messages.map(({ channel, text }) => client.publish(channel, text)));
    },
    subscribe: (channels) => client.subscribe([...channels], onMessage, true),
    unsubscribe: (channels) => client.unsubscribe([...channels]),
    destroy: () => destroy(new Error("closed")),
  };
  try {
    await inTime(connectMs, async () => {
      await client.connect();
      await connection.subscribe([checkChannel]);
      await connection.publish([{ channel: checkChannel, text: "" }]);
      await connection.unsubscribe([checkChannel]);
    });
  } catch (error) {
    destroy(error);
    throw error;
  }
  keepPinging(() => client.ping(), breaking.signal).catch(destroy);
  return connection;
}

/** Loads the client when it is needed: it takes 28 MB, which a process without a channel saves. */
async function createClientOf({ url, ca }: Endpoint): Promise<ReturnType<typeof createClient>> {
  const redis = await import("@redis/client");
  return redis.createClient({
    url,
    socket: {
      reconnectStrategy: false,
      connectTimeout: connectMs,
      ...(ca !== undefined && { tls: true, ca }),
    },
    disableOfflineQueue: true,
    maintNotifications: "disabled",
  });
}

/** Throws when the server does not answer in time, as one that hangs, or a cut network. */
async function keepPinging(ping: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await inTime(answerMs, ping);
    await sleep(pingMs, undefined, { signal });
  }
}

/** Throws what `work` throws, or when it takes longer than `ms`. */
async function inTime<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = sleep(ms, undefined, timer).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    timer.abort();
    late.catch(() => {});
  }
}
