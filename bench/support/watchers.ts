/** Watchers of unread counts, by Connect's client: they wait most of the time. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  NotificationService,
  type WatchNotificationsResponse,
} from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import type { ServerProcess } from "./stack.ts";

/** One stream, and when its messages came. */
export interface Watcher {
  /** When the watcher heard of at least so many people, on the clock of `performance.now()`. */
  heardOf(people: number): Promise<number>;
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
      return follow(client.watchNotifications({ ownerId }, options));
    },
    stop: () => ending.abort(),
  };
}

function follow(stream: AsyncIterable<WatchNotificationsResponse>): Watcher {
  /** When each number of people was heard of. */
  const times: number[] = [];
  const { promise: broken, reject } = Promise.withResolvers<never>();
  // Nobody may be waiting when the stream ends.
  broken.catch(() => {});
  let { promise: news, resolve: tell } = Promise.withResolvers<void>();
  const listen = async () => {
    for await (const { event } of stream) {
      if (event.case !== "unreadCount") break;
      const people = Number(event.value.peopleCount);
      while (times.length <= people) times.push(performance.now());
      tell();
      ({ promise: news, resolve: tell } = Promise.withResolvers<void>());
    }
    throw new Error("the stream ended");
  };
  listen().catch(reject);
  return {
    async heardOf(people) {
      while (times.length <= people) await Promise.race([news, broken]);
      return times[people] as number;
    },
  };
}
