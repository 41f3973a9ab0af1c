/** Reads the inboxes that other processes announce, which need not be true, in paced rounds. */
import type { InboxFeed } from "./inbox-feed.ts";

/**
 * The shortest time between the beginnings of two rounds, and how many inboxes one reads: up to
 * 5,000 a second, which cost as much as the polls of 10,000 active owners. A round reads an owner
 * once, however often announced, and begins when the reads of the last one have ended.
 */
const periodMs = 50;
const roundSize = 250;

interface AnnouncedReads {
  /** Plans to read the inbox, unless nobody watches the owner or this change is known. */
  add(ownerId: string, changeVersion: number): void;
  stop(): void;
}

/** Creates the reads for these feeds. They never throw: polls follow a read that has failed. */
export function createAnnouncedReads(feeds: ReadonlyMap<string, InboxFeed>): AnnouncedReads {
  /** The announced changes of the owners who wait for a round. */
  const waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;

  function take(): InboxFeed[] {
    const round = [...waiting].slice(0, roundSize);
    for (const [ownerId] of round) waiting.delete(ownerId);
    return round.flatMap(([ownerId, changeVersion]) => {
      const feed = feeds.get(ownerId);
      return feed?.lacksChange(changeVersion) ? [feed] : [];
    });
  }

  async function run(): Promise<void> {
    while (waiting.size > 0) {
      const isOver = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, periodMs);
      });
      await Promise.all([isOver, ...take().map(read)]);
    }
    isRunning = false;
  }

  return {
    add(ownerId, changeVersion) {
      if (!feeds.get(ownerId)?.lacksChange(changeVersion)) return;
      waiting.set(ownerId, Math.max(changeVersion, waiting.get(ownerId) ?? 0));
      if (isRunning) return;
      isRunning = true;
      // After the other announcements that have arrived with this one.
      queueMicrotask(() => void run());
    },
    stop() {
      waiting.clear();
      clearTimeout(timer);
    },
  };
}

/** Strongly consistent, so it finds the announced change if there is one. */
async function read(feed: InboxFeed): Promise<void> {
  try {
    await feed.refresh();
  } catch {
    feed.missAnnouncement();
  }
}
