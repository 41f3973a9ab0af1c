/** Tests that a client that reads slowly skips counts, in each protocol over HTTP/2. */
import { once } from "node:events";
import { connect } from "node:http2";
import { setImmediate } from "node:timers/promises";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { unreadCountStreams } from "../../../src/feed/rpc/notifications/watch.ts";
import { createUnreadCountStreams } from "../../../src/feed/runtime/unread-counts.ts";
import {
  NotificationService,
  WatchUnreadCountsRequestSchema,
  WatchUnreadCountsResponseSchema,
} from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { createListeners } from "../../../src/platform/edge/listeners.ts";
import type { StreamCall } from "../../../src/platform/ports/streams.ts";
import { inbox } from "../../support/fixtures/unread-count-fixture.ts";
import { frame } from "../../support/servers/raw-grpc.ts";
import { memoryDeps } from "../../support/stores/memory-store.ts";

const { reader } = memoryDeps().deps;
const log = pino({ enabled: false });
const unreadCounts = createUnreadCountStreams({ reader, log, maxStreams: 9 });
/** Called with each call that opens a stream. */
let onOpen: (call: StreamCall) => void = () => {};
const observed: typeof unreadCounts = {
  ...unreadCounts,
  watch(owners, call) {
    onOpen(call);
    return unreadCounts.watch(owners, call);
  },
};
const listeners = createListeners({
  corsOrigins: [],
  routes: (router) => {
    router.service(NotificationService, unreadCountStreams({ unreadCounts: observed }));
  },
});
let port: number;
beforeAll(async () => {
  ({ port } = await listeners.listen("127.0.0.1", { port: 0, http1Port: 0 }));
});
afterAll(async () => {
  unreadCounts.close();
  await listeners.drain(60_000);
});

/** Reads the messages, which have a prefix of five bytes in each protocol. */
async function* messagesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let left = Buffer.alloc(0);
  for await (const chunk of chunks) {
    left = Buffer.concat([left, chunk]);
    while (left.length >= 5 && left.length >= 5 + left.readUInt32BE(1)) {
      const end = 5 + left.readUInt32BE(1);
      yield left.subarray(5, end);
      left = left.subarray(end);
    }
  }
}

/** Opens a stream whose window has room for one count and a part of the next. */
async function openNarrow(ownerId: string, type = "application/grpc") {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 40 } });
  const stream = session.request({
    ":method": "POST",
    ":path": `/${NotificationService.typeName}/WatchUnreadCounts`,
    "content-type": type,
    te: "trailers",
  });
  const request = create(WatchUnreadCountsRequestSchema, { watches: [{ ownerId }] });
  stream.end(frame(toBinary(WatchUnreadCountsRequestSchema, request)));
  await once(stream, "response");
  return { session, stream };
}

/** Publishes all versions up to this one. The server may send each of them. */
async function publish(ownerId: string, last: number): Promise<void> {
  for (let version = 1; version <= last; version++) {
    unreadCounts.publish(ownerId, inbox(version));
    await setImmediate();
  }
}

test.each([
  ["gRPC", "application/grpc"],
  ["gRPC-Web", "application/grpc-web+proto"],
  ["Connect", "application/connect+proto"],
])("a slow reader by %s gets what its window holds, then the latest count", async (name, type) => {
  const { session, stream } = await openNarrow(name, type);
  await publish(name, 1_000);
  const versions: bigint[] = [];
  for await (const message of messagesOf(stream)) {
    const { content } = fromBinary(WatchUnreadCountsResponseSchema, message);
    if (content.case === "update") versions.push(content.value.unreadCount?.version ?? 0n);
    if (versions.at(-1) === 1_000n) break;
  }
  expect(versions.length).toBeLessThanOrEqual(5);
  session.destroy();
});

test("a slow reader that leaves is no error of the server", async () => {
  const printed = vi.spyOn(console, "error");
  const left = Promise.withResolvers<void>();
  onOpen = ({ signal }) => signal.addEventListener("abort", () => left.resolve());
  const { session } = await openNarrow("leaving");
  await publish("leaving", 10);
  session.destroy();
  await left.promise;
  // The write under way has failed by the time that another client is answered.
  (await openNarrow("staying")).session.destroy();
  expect(printed).not.toHaveBeenCalled();
});
