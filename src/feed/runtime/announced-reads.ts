/** Reads the inboxes that other processes announce, which need not be true, at a limited rate. */
import type { InboxFeed } from "./inbox-feed.ts";

/**
 * How many reads have a slot at once, and for how long a read keeps its slot at least. So an
 * owner is read at most 20 times a second, however often announced, and all owners together at most
 * 5,000 times, which costs as much as the polls of 10,000 active owners.
 */
const slots = 250;
const slotMs = 50;

/** The time between the beginnings of reads, which share requests if they begin together. */
const batchMs = 10;

interface AnnouncedReads {
  /** Reads the inbox, now or later, unless nobody watches the owner or this change is known. */
  add(ownerId: string, changeVersion: number): void;
  stop(): void;
}

/** Creates the reads for these feeds. They never throw: polls follow a read that has failed. */
export function createAnnouncedReads(feeds: ReadonlyMap<string, InboxFeed>): AnnouncedReads {
  /** The announced changes of the owners who wait for a slot, those who wait longest first. */
  const waiting = new Map<string, number>();
  /** The owners whose reads have a slot, with the timers of the least time. */
  const reading = new Map<string, NodeJS.Timeout>();
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;

  /** Leaves out an owner who has a slot: a slow read delays no other owner. */
  function beginReads(): void {
    for (const [ownerId, changeVersion] of waiting) {
      if (reading.size >= slots) return;
      if (reading.has(ownerId)) continue;
      waiting.delete(ownerId);
      const feed = feeds.get(ownerId);
      if (feed?.lacksChange(changeVersion) && !feed.isLeftToPolls) void read(feed);
    }
  }

  /** Strongly consistent, so it finds the announced change if there is one. */
  async function read(feed: InboxFeed): Promise<void> {
    const { ownerId } = feed;
    const isOver = new Promise<void>((resolve) => {
      reading.set(ownerId, setTimeout(resolve, slotMs));
    });
    try {
      await feed.refresh();
    } catch {
      feed.leaveToPolls();
    }
    await isOver;
    reading.delete(ownerId);
  }

  async function run(): Promise<void> {
    while (waiting.size > 0) {
      beginReads();
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, batchMs);
      });
    }
    isRunning = false;
  }

  return {
    add(ownerId, changeVersion) {
      const feed = feeds.get(ownerId);
      if (!feed?.lacksChange(changeVersion)) return;
      if (feed.isLeftToPolls) {
        feed.missAnnouncement();
        return;
      }
      waiting.set(ownerId, Math.max(changeVersion, waiting.get(ownerId) ?? 0));
      if (isRunning) return;
      isRunning = true;
      // After the other announcements that have arrived with this one.
      queueMicrotask(() => void run());
    },
    stop() {
      waiting.clear();
      for (const each of [timer, ...reading.values()]) clearTimeout(each);
    },
  };
}
