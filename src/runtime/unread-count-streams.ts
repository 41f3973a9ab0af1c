/** Sends unread counts to open streams: at once after own commits, else by polling the store. */
import type { Reader } from "../app/ports/deps.ts";
import { inboxRef } from "../app/ports/records.ts";
import type { UnreadCountStreams, WatchedOwner } from "../app/ports/unread-counts.ts";
import { DomainError } from "../domain/errors.ts";
import { emptyInbox } from "../domain/inbox.ts";
import type { Logger } from "../log.ts";
import { InboxFeed } from "./inbox-feed.ts";
import { createInboxPolls } from "./inbox-polls.ts";
import { streamLimitMs } from "./stream-limit.ts";
import { UnreadCountStream } from "./unread-count-stream.ts";

interface UnreadCountStreamsDeps {
  readonly reader: Pick<Reader, "many" | "inboxes">;
  readonly log: Logger;
  /** The most streams that may be open at a time; a stream of several owners counts as several. */
  readonly maxStreams: number;
}

/**
 * Polls the inbox of every owner with an open stream, each once however many streams it has; polls
 * nothing while no stream is open.
 */
export function createUnreadCountStreams(deps: UnreadCountStreamsDeps): UnreadCountStreams {
  const { reader, log, maxStreams } = deps;
  const feeds = new Map<string, InboxFeed>();
  const streams = new Set<UnreadCountStream>();
  const polls = createInboxPolls(reader, feeds, log);
  /** The owners of all streams, counted once for each stream. */
  let placesTaken = 0;
  let draining = false;

  function feedOf(ownerId: string): InboxFeed {
    const feed = feeds.get(ownerId) ?? new InboxFeed(ownerId);
    feeds.set(ownerId, feed);
    return feed;
  }

  /** Opens the owners of a stream with one strongly consistent read. */
  async function openOwners(
    stream: UnreadCountStream,
    owners: readonly WatchedOwner[],
  ): Promise<void> {
    const watches = owners.map(({ ownerId }) => {
      const feed = feedOf(ownerId);
      feed.activate();
      return stream.watch(feed);
    });
    try {
      const inboxes = await reader.many(owners.map(({ ownerId }) => inboxRef(ownerId)));
      for (const [i, { knownVersion }] of owners.entries()) {
        watches[i]?.open(inboxes[i] ?? emptyInbox, knownVersion);
      }
    } catch (error) {
      stream.fail(error);
    }
  }

  function openStream(owners: readonly WatchedOwner[]): UnreadCountStream {
    if (draining) throw new DomainError("DRAINING", "this server is about to stop; try another");
    if (placesTaken + owners.length > maxStreams) throw tooMany(maxStreams);
    const stream = new UnreadCountStream(streamLimitMs());
    streams.add(stream);
    placesTaken += owners.length;
    void openOwners(stream, owners);
    polls.start();
    return stream;
  }

  /** May be called again for the same stream. */
  function closeStream(stream: UnreadCountStream): void {
    if (!streams.delete(stream)) return;
    placesTaken -= stream.ownerCount;
    for (const { ownerId } of stream.close()) feeds.delete(ownerId);
    if (streams.size === 0) polls.stop();
  }

  return {
    publish: (ownerId, inbox) => feeds.get(ownerId)?.publish(inbox),

    async *watch(owners, signal) {
      if (signal.aborted) return;
      const stream = openStream(owners);
      // Closes the stream even while its consumer is blocked in a write and does not return here.
      const close = () => closeStream(stream);
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
      polls.stop();
      for (const stream of streams) stream.drain();
    },
  };
}

const tooMany = (maxStreams: number) =>
  new DomainError(
    "TOO_MANY_STREAMS",
    `this server has too few places left of ${maxStreams} for streams; try another`,
  );
