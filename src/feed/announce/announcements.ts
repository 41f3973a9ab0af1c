/** Announces changed inboxes by the pub/sub of Valkey or Redis, with a channel for each owner. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../platform/observe/log.ts";
import type { AnnouncementListener, Announcements } from "../ports/announcements.ts";
import { connect, type Endpoint } from "./connection.ts";
import { Exchange } from "./exchange.ts";

/** The time until the next connection is tried; random, so that processes do not come together. */
const shortestRetryMs = 500;
const longestRetryMs = 1_500;

/** How long the last announcements of a process that ends may take. */
const closeMs = 1_000;

interface AnnouncementsDeps {
  readonly endpoint: Endpoint;
  /** In front of the channels' names, so that deployments with different tables stay apart. */
  readonly prefix: string;
  readonly log: Logger;
}

/** The announcements of a process, which ends some time. */
interface ClosableAnnouncements extends Announcements {
  /** Sends what waits, for a second at most, and disconnects. */
  close(): Promise<void>;
}

/** Creates the announcements of one process. It connects when they start. */
export function createAnnouncements(deps: AnnouncementsDeps): ClosableAnnouncements {
  const { endpoint, prefix, log } = deps;
  const channelPrefix = `${prefix}inbox:`;
  const closing = new AbortController();
  const exchange = new Exchange(channelPrefix, closing.signal);
  let running = Promise.resolve();
  let disconnect = () => {};
  let isLost = false;

  async function connectAndServe(listener: AnnouncementListener): Promise<void> {
    const onMessage = (message: Buffer, channel: Buffer) => {
      const version = versionIn(message);
      if (version === undefined) return;
      listener.announced(channel.toString().slice(channelPrefix.length), version);
    };
    const connection = await connect(endpoint, `${prefix}check`, onMessage);
    disconnect = connection.destroy;
    if (isLost) log.info("changed inboxes are announced again");
    isLost = false;
    try {
      await exchange.serve(connection, listener);
    } finally {
      disconnect();
      listener.lost();
    }
  }

  async function run(listener: AnnouncementListener): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await connectAndServe(listener);
      } catch (err) {
        if (!isLost) log.warn({ err }, "changed inboxes are not announced, but polled");
        isLost = true;
      }
      const retryMs = shortestRetryMs + (longestRetryMs - shortestRetryMs) * Math.random();
      await sleep(retryMs, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  return {
    start(listener) {
      running = run(listener);
    },
    announce: (ownerId, version) => exchange.announce(ownerId, version),
    subscribe: (ownerId) => exchange.subscribe(ownerId),
    unsubscribe: (ownerId) => exchange.unsubscribe(ownerId),
    async close() {
      closing.abort();
      const timer = new AbortController();
      const timeIsUp = sleep(closeMs, undefined, timer).catch(() => {});
      await Promise.race([running, timeIsUp]);
      timer.abort();
      disconnect();
    },
  };
}

/** The version in a message; undefined if it has none, whoever has sent it. */
function versionIn(message: Buffer): number | undefined {
  const isNumber = message.length <= 15 && /^\d+$/.test(message.toString());
  return isNumber ? Number(message) : undefined;
}
