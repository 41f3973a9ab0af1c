/** One open stream of the unread counts of its owners. */
import type { UnreadCountEvent } from "../app/ports/unread-counts.ts";
import type { Badge, Inbox } from "../domain/inbox.ts";
import { badgeOf } from "../domain/inbox.ts";
import type { FeedWatcher, InboxFeed } from "./inbox-feed.ts";

type EndReason = Extract<UnreadCountEvent, { end: unknown }>["end"];

/**
 * The delays after which a client opens the stream again, from the shortest to the longest: random
 * within them, so that streams that end together open apart. After DRAINING, load balancers need
 * some time to leave this server out.
 */
const reopenDelays: Readonly<Record<EndReason, readonly [number, number]>> = {
  TIME_LIMIT: [100, 1_000],
  DRAINING: [1_000, 5_000],
};

/**
 * A stream. It keeps only the badge that it has sent last of each owner, so a client that reads
 * slowly gets the latest counts and skips older ones.
 */
export class UnreadCountStream {
  readonly #watches: OwnerWatch[] = [];
  /** The owners whose inbox may have changed since the last message about them. */
  readonly #pending = new Set<OwnerWatch>();
  #timer: NodeJS.Timeout;
  #notified = Promise.withResolvers<void>();
  /** Set when the stream has to end. Returns its last event, if any, or throws. */
  #last: (() => UnreadCountEvent | undefined) | undefined;

  constructor(limitMs: number) {
    this.#timer = setTimeout(() => this.#end("TIME_LIMIT"), limitMs);
  }

  /** The number of its owners. */
  get ownerCount(): number {
    return this.#watches.length;
  }

  /** Adds the owner of a feed. Nothing is sent about the owner until the returned watch is open. */
  watch(feed: InboxFeed): OwnerWatch {
    const watch = new OwnerWatch(feed, () => this.#notify(watch));
    feed.watchers.add(watch);
    this.#watches.push(watch);
    return watch;
  }

  /** Ends the stream after this time, instead of at its limit. */
  drainAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.drain(), ms);
  }

  drain(): void {
    this.#end("DRAINING");
  }

  fail(error: unknown): void {
    this.#endWith(() => {
      throw error;
    });
  }

  /** Ends the stream without a last event. Returns the feeds that have no stream any more. */
  close(): InboxFeed[] {
    this.#endWith(() => undefined);
    const feeds = this.#watches.map(({ feed }) => feed);
    for (const watch of this.#watches) watch.feed.watchers.delete(watch);
    return feeds.filter(({ watchers }) => watchers.size === 0);
  }

  async *events(): AsyncGenerator<UnreadCountEvent, void> {
    for (;;) {
      if (this.#last) {
        const last = this.#last();
        if (last) yield last;
        return;
      }
      const [watch] = this.#pending;
      if (watch) {
        // An owner that changes again queues behind the other owners, so that none waits long.
        this.#pending.delete(watch);
        const event = watch.take();
        if (event) yield event;
      } else {
        this.#notified = Promise.withResolvers();
        await this.#notified.promise;
      }
    }
  }

  #notify(watch: OwnerWatch): void {
    this.#pending.add(watch);
    this.#notified.resolve();
  }

  #end(end: EndReason): void {
    const [shortest, longest] = reopenDelays[end];
    const reopenDelayMs = Math.round(shortest + (longest - shortest) * Math.random());
    this.#endWith(() => ({ end, reopenDelayMs }));
  }

  #endWith(last: () => UnreadCountEvent | undefined): void {
    clearTimeout(this.#timer);
    this.#last ??= last;
    this.#notified.resolve();
  }
}

/** One owner of one stream. */
class OwnerWatch implements FeedWatcher {
  readonly feed: InboxFeed;
  /** Notifies the stream that the owner's inbox is new or has changed. */
  readonly notify: () => void;
  /** True once the inbox has been read from the store. */
  #isOpen = false;
  /** The badge that the client has. */
  #sent: Badge | undefined;

  constructor(feed: InboxFeed, notify: () => void) {
    this.feed = feed;
    this.notify = notify;
  }

  /** Begins with the inbox that was read. The client has the badge of `knownVersion`; 0: none. */
  open(read: Inbox, knownVersion: number): void {
    this.#isOpen = true;
    this.feed.publish(read);
    const { inbox } = this.feed;
    if (inbox && knownVersion > 0 && inbox.version === knownVersion) this.#sent = badgeOf(inbox);
    this.notify();
  }

  /** Returns the event to send; undefined when the client has the badge. */
  take(): UnreadCountEvent | undefined {
    const { ownerId, inbox } = this.feed;
    if (!this.#isOpen || !inbox) return undefined;
    const badge = badgeOf(inbox);
    if (this.#sent && isSame(this.#sent, badge)) return undefined;
    this.#sent = badge;
    return { ownerId, version: inbox.version, badge };
  }
}

const isSame = (a: Badge, b: Badge): boolean =>
  a.notificationCount === b.notificationCount &&
  a.peopleCount === b.peopleCount &&
  a.unseenNotificationCount === b.unseenNotificationCount;
