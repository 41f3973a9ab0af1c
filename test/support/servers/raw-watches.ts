/**
 * Opens many unread count streams over plain HTTP/2, because thousands of clients of Connect would
 * take the processor from the server.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  NotificationService,
  WatchUnreadCountsRequestSchema,
  WatchUnreadCountsResponseSchema,
} from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { frame } from "./raw-grpc.ts";

/** As many as a server lets one connection carry. */
const streamsPerConnection = 1_000;

const headers = {
  ":method": "POST",
  ":path": `/${NotificationService.typeName}/WatchUnreadCounts`,
  "content-type": "application/grpc",
  "grpc-accept-encoding": "gzip",
  "meguri-caller": "watches",
  "user-agent": "grpc-node-js/1.14.7",
  te: "trailers",
};

interface RawWatches {
  /** Opens a stream of one owner. Resolves with its first message, or rejects if it ends before. */
  open(ownerId: string): Promise<void>;
  /** The same for each of them, a thousand at a time. */
  openAll(ownerIds: readonly string[]): Promise<void>;
  close(): void;
}

/** Calls `onEnd` when a stream says after which delay, in ms, it has to be opened again. */
export function rawWatches(
  port: number,
  onEnd: (ownerId: string, reopenMs: number) => void = () => {},
): RawWatches {
  const sessions: ClientHttp2Session[] = [];
  let opened = 0;

  function nextSession(): ClientHttp2Session {
    const isFull = opened++ % streamsPerConnection === 0;
    const last = sessions.at(-1);
    if (last && !isFull) return last;
    const added = connect(`http://127.0.0.1:${port}`);
    // The streams report what happens to it.
    added.on("error", () => {});
    sessions.push(added);
    return added;
  }

  const open = (ownerId: string) =>
    begin(nextSession(), ownerId, (reopenMs) => onEnd(ownerId, reopenMs));

  return {
    open,
    async openAll(ownerIds) {
      for (let from = 0; from < ownerIds.length; from += streamsPerConnection) {
        await Promise.all(ownerIds.slice(from, from + streamsPerConnection).map(open));
      }
    },
    close() {
      for (const session of sessions) session.destroy();
    },
  };
}

function begin(
  session: ClientHttp2Session,
  ownerId: string,
  onEnd: (reopenMs: number) => void,
): Promise<void> {
  const request = create(WatchUnreadCountsRequestSchema, { watches: [{ ownerId }] });
  const stream: ClientHttp2Stream = session.request(headers, { endStream: false });
  stream.end(frame(toBinary(WatchUnreadCountsRequestSchema, request)));
  return new Promise((resolve, reject) => {
    stream.on("error", reject);
    stream.on("data", (chunk: Buffer) => {
      resolve();
      const reopenMs = reopenMsIn(chunk);
      if (reopenMs !== undefined) onEnd(reopenMs);
    });
    stream.on("close", () => reject(new Error(`the stream of ${ownerId} ended`)));
  });
}

/** The delay in the last message of a stream. Messages are small: each is one chunk. */
function reopenMsIn(chunk: Buffer): number | undefined {
  const { content } = fromBinary(WatchUnreadCountsResponseSchema, chunk.subarray(5));
  const { reopenDelay } = content.case === "end" ? content.value : {};
  return reopenDelay && durationMs(reopenDelay);
}
