/** Sends unread counts to open streams: at once after own commits, else by polling the store. */
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import type { Reader } from "../app/ports/deps.ts";
import { inBatches } from "../app/ports/pages.ts";
import { inboxRef } from "../app/ports/records.ts";
import type { UnreadCountEvent, UnreadCountStreams } from "../app/ports/unread-counts.ts";
import { DomainError } from "../domain/errors.ts";
import { emptyInbox, type Inbox } from "../domain/notification.ts";
import type { Logger } from "../log.ts";

/** The time between two polls, with a jitter of a tenth so that servers do not poll in step. */
const pollEveryMs = 1_000;
const jitter = 0.1;

/** A stream ends after this long, so that streams spread over new servers, too. */
const streamLimitMs = 30 * 60_000;

/** How many inboxes one request reads, and how many requests are in flight at once. */
const batchSize = 100;
const concurrency = 4;

export interface UnreadCountStreamsDeps {
  readonly reader: Pick<Reader, "get" | "inboxes">;
  readonly log: Logger;
  /** The most streams that may be open at a time. */
  readonly maxStreams: number;
  readonly pollMs?: number;
  readonly limitMs?: number;
}

/**
 * Polls the inbox of every owner with an open stream, each once however many streams it has; polls
 * nothing while no stream is open. A stream keeps only the version that it has sent, so a client
 * that reads slowly gets the latest count and skips older ones.
 */
export function createUnreadCountStreams(deps: UnreadCountStreamsDeps): UnreadCountStreams {
  const { reader, log, maxStreams, pollMs = pollEveryMs, limitMs = streamLimitMs } = deps;
  const feeds = new Map<string, Feed>();
  const streams = new Set<Stream>();
  const poll = createPoll(reader, feeds, log);
  let polling: AbortController | undefined;
  let closed = false;

  function openStream(ownerId: string): Stream {
    const feed = feeds.get(ownerId) ?? new Feed();
    feeds.set(ownerId, feed);
    const stream = new Stream(feed, limitMs);
    streams.add(stream);
    reader.get(inboxRef(ownerId)).then(
      (found) => stream.open(found?.value ?? emptyInbox),
      (error) => stream.fail(error),
    );
    if (!polling) {
      polling = new AbortController();
      void repeat(poll, pollMs, polling.signal);
    }
    return stream;
  }

  function closeStream(ownerId: string, stream: Stream): void {
    streams.delete(stream);
    if (stream.close()) feeds.delete(ownerId);
    if (streams.size === 0) stopPolling();
  }

  function stopPolling(): void {
    polling?.abort();
    polling = undefined;
  }

  return {
    publish: (ownerId, inbox) => feeds.get(ownerId)?.publish(inbox),

    async *watch(ownerId, signal) {
      if (signal.aborted) return;
      if (closed) return yield { end: "DRAINING" };
      if (streams.size >= maxStreams) throw tooMany(maxStreams);
      const stream = openStream(ownerId);
      // Closes the stream even while its consumer is blocked in a write and does not return here.
      const close = () => closeStream(ownerId, stream);
      signal.addEventListener("abort", close, { once: true });
      try {
        yield* stream.events();
      } finally {
        signal.removeEventListener("abort", close);
        close();
      }
    },

    close() {
      closed = true;
      stopPolling();
      for (const stream of streams) stream.end("DRAINING");
    },
  };
}

const tooMany = (maxStreams: number) =>
  new DomainError("TOO_MANY_STREAMS", `this server has ${maxStreams} streams open; try another`);

/** The latest version of one inbox, and the streams of its owner. */
class Feed {
  inbox: Inbox | undefined;
  readonly streams = new Set<Stream>();

  /** Notifies the streams of a newer version; ignores an older one. */
  publish(inbox: Inbox): void {
    if (this.inbox && inbox.version <= this.inbox.version) return;
    this.inbox = inbox;
    for (const stream of this.streams) stream.notify();
  }
}

/** One open stream. */
class Stream {
  readonly #feed: Feed;
  readonly #timer: NodeJS.Timeout;
  #notified = Promise.withResolvers<void>();
  /** True once the first count has been read from the store. */
  #isOpen = false;
  /** Set when the stream has to end. Returns its last event, if any, or throws. */
  #last: (() => UnreadCountEvent | undefined) | undefined;

  constructor(feed: Feed, limitMs: number) {
    this.#feed = feed;
    feed.streams.add(this);
    this.#timer = setTimeout(() => this.end("TIME_LIMIT"), limitMs);
  }

  notify(): void {
    this.#notified.resolve();
  }

  open(inbox: Inbox): void {
    this.#isOpen = true;
    this.#feed.publish(inbox);
    this.notify();
  }

  end(end: "TIME_LIMIT" | "DRAINING"): void {
    this.#endWith(() => ({ end }));
  }

  fail(error: unknown): void {
    this.#endWith(() => {
      throw error;
    });
  }

  /** Returns whether it was the last stream of its feed. */
  close(): boolean {
    this.#endWith(() => undefined);
    return this.#feed.streams.delete(this) && this.#feed.streams.size === 0;
  }

  #endWith(last: () => UnreadCountEvent | undefined): void {
    clearTimeout(this.#timer);
    this.#last ??= last;
    this.notify();
  }

  async *events(): AsyncGenerator<UnreadCountEvent, void> {
    let sent = -1;
    for (;;) {
      this.#notified = Promise.withResolvers();
      if (this.#last) {
        const last = this.#last();
        if (last) yield last;
        return;
      }
      const inbox = this.#isOpen ? this.#feed.inbox : undefined;
      if (inbox && inbox.version > sent) {
        sent = inbox.version;
        yield { inbox };
      } else {
        await this.#notified.promise;
      }
    }
  }
}

/**
 * Returns a function that reads the inboxes of all feeds once. It never throws: the next poll reads
 * an inbox again whose read has failed.
 */
function createPoll(
  reader: Pick<Reader, "inboxes">,
  feeds: ReadonlyMap<string, Feed>,
  log: Logger,
): () => Promise<void> {
  const limit = pLimit(concurrency);
  let failing = false;

  /** Returns the error if the read failed. */
  async function pollBatch(ownerIds: readonly string[]): Promise<unknown> {
    try {
      const found = await reader.inboxes(ownerIds);
      for (const [ownerId, inbox] of found) feeds.get(ownerId)?.publish(inbox);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  return async () => {
    const ownerIds = [...feeds.keys()];
    const results = await limit.map(inBatches(ownerIds, batchSize), pollBatch);
    const err = results.find((error) => error !== undefined);
    if (err !== undefined && !failing) log.warn({ err }, "unread counts cannot be polled");
    if (err === undefined && failing) log.info("unread counts are polled again");
    failing = err !== undefined;
  };
}

/** Runs `work` about every `periodMs`, the first time after one period, until `signal` aborts. */
async function repeat(
  work: () => Promise<void>,
  periodMs: number,
  signal: AbortSignal,
): Promise<void> {
  const pause = () =>
    sleep(periodMs * (1 - jitter + 2 * jitter * Math.random()), undefined, { signal });
  try {
    await pause();
    for (;;) await Promise.all([work(), pause()]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
