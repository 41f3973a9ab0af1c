/** Clients of unread count streams. They use Connect's client, because they are mostly idle. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  NotificationService,
  type WatchUnreadCountsResponse,
} from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import type { ServerProcess } from "./stack.ts";

/** One stream, with the times of its messages. */
export interface Watcher {
  /** The time of the first count of at least so many people, by `performance.now()`. */
  receivedAt(people: number): Promise<number>;
}

export interface Watchers {
  watch(ownerId: string): Watcher;
  stop(): void;
}

export function startWatchers({ port }: ServerProcess): Watchers {
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
  const client = createClient(NotificationService, transport);
  const headers = { "meguri-caller": "bench" };
  const ending = new AbortController();
  return {
    watch(ownerId) {
      const options = { headers, signal: ending.signal };
      return follow(client.watchUnreadCounts({ watches: [{ ownerId }] }, options));
    },
    stop: () => ending.abort(),
  };
}

function follow(stream: AsyncIterable<WatchUnreadCountsResponse>): Watcher {
  /** The time at which each number of people was received. */
  const times: number[] = [];
  const { promise: broken, reject } = Promise.withResolvers<never>();
  // Avoids an unhandled rejection when the stream ends while nothing waits for it.
  broken.catch(() => {});
  let { promise: received, resolve: notify } = Promise.withResolvers<void>();
  const listen = async () => {
    for await (const { content } of stream) {
      if (content.case !== "update") break;
      const people = Number(content.value.unreadCount?.actorCount);
      while (times.length <= people) times.push(performance.now());
      notify();
      ({ promise: received, resolve: notify } = Promise.withResolvers<void>());
    }
    throw new Error("the stream ended");
  };
  listen().catch(reject);
  return {
    async receivedAt(people) {
      while (times.length <= people) await Promise.race([received, broken]);
      return times[people] as number;
    },
  };
}
