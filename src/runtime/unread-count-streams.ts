import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import type { Reader } from "../app/ports/deps.ts";
import { inBatches } from "../app/ports/pages.ts";
import { inboxRef } from "../app/ports/records.ts";
import type { UnreadCountEvent, UnreadCountStreams } from "../app/ports/unread-counts.ts";
import { DomainError } from "../domain/errors.ts";
import { emptyInbox, type Inbox } from "../domain/notification.ts";
import type { Logger } from "../log.ts";

/** How often the store is asked, give or take a tenth, so that servers do not fall into step. */
const pollEveryMs = 1_000;
const jitter = 0.1;

/** A stream ends after this long, so that streams spread over the servers there are. */
const streamLimitMs = 30 * 60_000;

/** What one request asks for, and how many are under way at once. */
const batchSize = 100;
const batchesAtOnce = 4;

export interface UnreadCountStreamsDeps {
  readonly reader: Pick<Reader, "get" | "inboxes">;
  readonly log: Logger;
  /** How many streams there may be at a time. */
  readonly maxStreams: number;
  readonly pollMs?: number;
  readonly limitMs?: number;
}

/**
 * Streams of unread counts. The store is asked about all owners who are watched, each once whatever
 * the number of streams; while there are none, nothing runs. A stream holds nothing but the version
 * it has sent: one that is read slowly is sent the latest count and never those in between.
 */
export function createUnreadCountStreams(deps: UnreadCountStreamsDeps): UnreadCountStreams {
  const { reader, log, maxStreams, pollMs = pollEveryMs, limitMs = streamLimitMs } = deps;
  const feeds = new Map<string, Feed>();
  const streams = new Set<Stream>();
  const poll = createPoll(reader, feeds, log);
  let polling: AbortController | undefined;
  let closed = false;

  function enter(ownerId: string): Stream {
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

  function leave(ownerId: string, stream: Stream): void {
    streams.delete(stream);
    if (stream.leave()) feeds.delete(ownerId);
    if (streams.size === 0) stopPolling();
  }

  function stopPolling(): void {
    polling?.abort();
    polling = undefined;
  }

  return {
    publish: (ownerId, inbox) => feeds.get(ownerId)?.offer(inbox),

    async *watch(ownerId, signal) {
      if (signal.aborted) return;
      if (closed) return yield { end: "DRAINING" };
      if (streams.size >= maxStreams) throw tooMany(maxStreams);
      const stream = enter(ownerId);
      // Whoever waits for the stream may be stuck in a write: the place is free all the same.
      const left = () => leave(ownerId, stream);
      signal.addEventListener("abort", left, { once: true });
      try {
        yield* stream.events();
      } finally {
        signal.removeEventListener("abort", left);
        left();
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

/** The latest that is known of one inbox, and who waits for more. */
class Feed {
  inbox: Inbox | undefined;
  readonly streams = new Set<Stream>();

  /** What is older than what is known is left aside. */
  offer(inbox: Inbox): void {
    if (this.inbox && inbox.version <= this.inbox.version) return;
    this.inbox = inbox;
    for (const stream of this.streams) stream.wake();
  }
}

/** One open stream. */
class Stream {
  readonly #feed: Feed;
  readonly #timer: NodeJS.Timeout;
  #woken = Promise.withResolvers<void>();
  /** Set once the store has told what the count was when the stream opened. */
  #isOpen = false;
  /** How it ends: with a last event, an error, or nothing. */
  #last: (() => UnreadCountEvent | undefined) | undefined;

  constructor(feed: Feed, limitMs: number) {
    this.#feed = feed;
    feed.streams.add(this);
    this.#timer = setTimeout(() => this.end("TIME_LIMIT"), limitMs);
  }

  wake(): void {
    this.#woken.resolve();
  }

  open(inbox: Inbox): void {
    this.#isOpen = true;
    this.#feed.offer(inbox);
    this.wake();
  }

  end(end: "TIME_LIMIT" | "DRAINING"): void {
    this.#endWith(() => ({ end }));
  }

  fail(error: unknown): void {
    this.#endWith(() => {
      throw error;
    });
  }

  /** Tells whether it was the last one of its feed. */
  leave(): boolean {
    this.#endWith(() => undefined);
    return this.#feed.streams.delete(this) && this.#feed.streams.size === 0;
  }

  #endWith(last: () => UnreadCountEvent | undefined): void {
    clearTimeout(this.#timer);
    this.#last ??= last;
    this.wake();
  }

  async *events(): AsyncGenerator<UnreadCountEvent, void> {
    let sent = -1;
    for (;;) {
      this.#woken = Promise.withResolvers();
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
        await this.#woken.promise;
      }
    }
  }
}

/** Asks once for everybody in `feeds`. Never throws: what fails is asked again the next time. */
function createPoll(
  reader: Pick<Reader, "inboxes">,
  feeds: ReadonlyMap<string, Feed>,
  log: Logger,
): () => Promise<void> {
  const limit = pLimit(batchesAtOnce);
  let failing = false;

  /** Answers with the error, if there was one. */
  async function ask(ownerIds: readonly string[]): Promise<unknown> {
    try {
      const found = await reader.inboxes(ownerIds);
      for (const [ownerId, inbox] of found) feeds.get(ownerId)?.offer(inbox);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  return async () => {
    const ownerIds = [...feeds.keys()];
    const results = await limit.map(inBatches(ownerIds, batchSize), ask);
    const err = results.find((error) => error !== undefined);
    if (err !== undefined && !failing) log.warn({ err }, "unread counts cannot be polled");
    if (err === undefined && failing) log.info("unread counts are polled again");
    failing = err !== undefined;
  };
}

/** Runs `work` about once in `periodMs`, the first time after one of them, until `signal`. */
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
