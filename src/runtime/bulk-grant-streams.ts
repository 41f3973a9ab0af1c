/** Sends the progress of bulk grants to open streams, by polling the store. */
import type { BulkGrantStreams } from "../app/ports/bulk-grants.ts";
import type { BulkGrantName } from "../domain/bulk-grant.ts";
import { DomainError } from "../domain/errors.ts";
import type { Logger } from "../log.ts";
import {
  type BulkGrantFeed,
  type BulkGrantSource,
  createBulkGrantFeed,
} from "./bulk-grant-feed.ts";
import { type BulkGrantStream, openBulkGrantStream } from "./bulk-grant-stream.ts";

interface BulkGrantStreamsDeps {
  readonly reader: BulkGrantSource;
  readonly log: Logger;
  /** The most streams that may be open at a time. */
  readonly maxStreams: number;
}

/**
 * Polls every bulk grant with an open stream, each once however many streams it has; polls nothing
 * while no stream is open.
 */
export function createBulkGrantStreams(deps: BulkGrantStreamsDeps): BulkGrantStreams {
  const { reader, log, maxStreams } = deps;
  const feeds = new Map<string, BulkGrantFeed>();
  const streams = new Set<BulkGrantStream>();
  let draining = false;

  function openStream(key: string, name: BulkGrantName): BulkGrantStream {
    if (draining) throw new DomainError("DRAINING", "this server is about to stop; try another");
    if (streams.size >= maxStreams) {
      throw new DomainError(
        "TOO_MANY_STREAMS",
        `this server has as many streams of bulk grants as it may, ${maxStreams}; try another`,
      );
    }
    const feed = feeds.get(key) ?? createBulkGrantFeed(reader, name, log);
    feeds.set(key, feed);
    const stream = openBulkGrantStream(feed);
    streams.add(stream);
    return stream;
  }

  /** May be called again for the same stream. */
  function closeStream(key: string, stream: BulkGrantStream): void {
    if (!streams.delete(stream)) return;
    stream.close();
    if (stream.feed.watchers.size > 0) return;
    stream.feed.stop();
    feeds.delete(key);
  }

  return {
    async *watch(name, signal) {
      if (signal.aborted) return;
      const key = `${name.programId}#${name.bulkGrantId}`;
      const stream = openStream(key, name);
      // Closes the stream even while its consumer is blocked in a write and does not return here.
      const close = () => closeStream(key, stream);
      signal.addEventListener("abort", close, { once: true });
      try {
        yield* stream.events();
      } finally {
        signal.removeEventListener("abort", close);
        close();
      }
    },

    drain(noticeMs) {
      draining = true;
      for (const stream of streams) stream.drainAfter(noticeMs * Math.random());
    },

    close() {
      draining = true;
      for (const stream of streams) stream.drain();
      for (const feed of feeds.values()) feed.stop();
    },
  };
}
