/**
 * Sends unread counts to open streams: at once after own commits and announced ones, else by
 * polling the store.
 */

import type { Logger } from "../../platform/observe/log.ts";
import { OpenStreams } from "../../platform/streams/open-streams.ts";
import type { Stream, Watch } from "../../platform/streams/stream.ts";
import type { Announcements } from "../ports/announcements.ts";
import type { Reader } from "../ports/deps.ts";
import type { UnreadCount, UnreadCountStreams, WatchedOwner } from "../ports/unread-counts.ts";
import { badgeOf } from "../rules/inbox.ts";
import { createAnnouncedReads } from "./announced-reads.ts";
import { InboxFeed } from "./inbox-feed.ts";
import { createInboxPolls } from "./inbox-polls.ts";
import { createOpeningReads } from "./opening-reads.ts";

interface UnreadCountStreamsDeps {
  readonly reader: Pick<Reader, "many" | "inboxes">;
  readonly log: Logger;
  /** The most streams that may be open at a time; a stream of several owners counts as several. */
  readonly maxStreams: number;
  /** Absent: the commits of other processes are found by polls alone. */
  readonly announcements?: Announcements | undefined;
}

/**
 * Polls the inbox of every owner with an open stream, each once however many streams it has; polls
 * nothing while no stream is open.
 */
export function createUnreadCountStreams(deps: UnreadCountStreamsDeps): UnreadCountStreams {
  const { reader, log, maxStreams, announcements } = deps;
  const feeds = new Map<string, InboxFeed>();
  const streams = new OpenStreams<UnreadCount>(maxStreams);
  const polls = createInboxPolls(reader, feeds, log);
  const readNow = createOpeningReads(reader);
  const announcedReads = createAnnouncedReads(feeds);
  announcements?.start({
    announced: announcedReads.add,
    subscribed(ownerIds) {
      for (const ownerId of ownerIds) feeds.get(ownerId)?.expectAnnouncements();
    },
    lost() {
      for (const feed of feeds.values()) feed.expectNoAnnouncements();
    },
  });

  function feedOf(ownerId: string): InboxFeed {
    const known = feeds.get(ownerId);
    if (known) return known;
    const feed = new InboxFeed(ownerId, readNow);
    feeds.set(ownerId, feed);
    announcements?.subscribe(ownerId);
    return feed;
  }

  function forget({ ownerId }: InboxFeed): void {
    feeds.delete(ownerId);
    announcements?.unsubscribe(ownerId);
    if (feeds.size === 0) polls.stop();
  }

  /**
   * Watches the owners of a stream. An owner who is watched already costs no read, unless the
   * client knows a newer version than this process.
   */
  async function begin(
    stream: Stream<UnreadCount>,
    owners: readonly WatchedOwner[],
  ): Promise<void> {
    const watches = owners.map(
      (owner) => new OwnerWatch(feedOf(owner.ownerId), owner, stream, forget),
    );
    polls.start();
    await Promise.all(watches.map((watch) => watch.open()));
  }

  return {
    publish(ownerId, inbox) {
      feeds.get(ownerId)?.publish(inbox);
      announcements?.announce(ownerId, inbox.changeVersion);
    },
    watch: (owners, call) => streams.open(call, owners.length, (stream) => begin(stream, owners)),
    drain: (noticeMs) => streams.drain(noticeMs),
    close() {
      polls.stop();
      announcedReads.stop();
      streams.close();
    },
  };
}

/** One owner of one stream. Nothing is sent about the owner until the watch is open. */
class OwnerWatch implements Watch<UnreadCount> {
  readonly #feed: InboxFeed;
  readonly #knownVersion: number;
  readonly #notify: () => void;
  readonly #forget: (feed: InboxFeed) => void;
  /** True once the inbox is known, at the version that the client knows or a newer one. */
  #isOpen = false;
  /** The version at which what the client has had changed; undefined while it has nothing. */
  #sentChange: number | undefined;

  constructor(
    feed: InboxFeed,
    { knownVersion }: WatchedOwner,
    stream: Stream<UnreadCount>,
    forget: (feed: InboxFeed) => void,
  ) {
    this.#feed = feed;
    this.#knownVersion = knownVersion;
    this.#notify = () => stream.notify(this);
    this.#forget = forget;
    feed.watchers.add(this.#notify);
    stream.add(this);
  }

  /**
   * Begins to send. The client has what was unread at the version that it knows; 0: nothing.
   * Streams that come back together after a restart know it mostly, so their owners stay quiet.
   */
  async open(): Promise<void> {
    const known = this.#knownVersion;
    if (this.#feed.isBehind(known)) await this.#feed.refresh();
    const { version = 0, changeVersion = 0 } = this.#feed.inbox ?? {};
    if (known > 0 && changeVersion <= known && known <= version) {
      this.#sentChange = changeVersion;
      this.#feed.pollSometime();
    } else this.#feed.activate();
    this.#isOpen = true;
    this.#notify();
  }

  take(): UnreadCount | undefined {
    const { ownerId, inbox } = this.#feed;
    if (!this.#isOpen || !inbox || inbox.changeVersion === this.#sentChange) return undefined;
    this.#sentChange = inbox.changeVersion;
    return { ownerId, version: inbox.version, badge: badgeOf(inbox) };
  }

  stop(): void {
    this.#feed.watchers.delete(this.#notify);
    if (this.#feed.watchers.size === 0) this.#forget(this.#feed);
  }
}
