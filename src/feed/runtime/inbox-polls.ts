/** Polls the inboxes of feeds in batches, each when it is due. */
import pLimit from "p-limit";
import type { Logger } from "../../platform/observe/log.ts";
import { describeError } from "../../platform/ports/described-errors.ts";
import { inBatches } from "../../platform/ports/pages.ts";
import { isThrottled, maxThrottled } from "../../platform/streams/throttled-batches.ts";
import type { Reader } from "../ports/deps.ts";
import { emptyInbox } from "../rules/inbox.ts";
import type { InboxFeed } from "./inbox-feed.ts";

/** How often the due feeds are collected. One timer serves all feeds. */
const tickMs = 200;

/** How many inboxes one request reads, and how many requests are in flight at once. */
const batchSize = 100;
const concurrency = 4;

interface InboxPolls {
  /** Begins to poll, unless it has begun. */
  start(): void;
  stop(): void;
}

/**
 * Creates polls of these feeds. A poll never throws: an inbox whose read has failed is read again
 * soon. The polls of a tick end before those of a later one begin.
 */
export function createInboxPolls(
  reader: Pick<Reader, "inboxes">,
  feeds: ReadonlyMap<string, InboxFeed>,
  log: Logger,
): InboxPolls {
  const limit = pLimit(concurrency);
  let timer: NodeJS.Timeout | undefined;
  let polling = false;
  let failing = false;

  /**
   * Returns the error if a read failed. A poll lags behind, so an older version than the known one
   * may be that of moments ago, or of a restored table: a strongly consistent read decides.
   */
  async function pollBatch(batch: readonly InboxFeed[]): Promise<unknown> {
    const begunAt = performance.now();
    try {
      const found = await reader.inboxes(batch.map(({ ownerId }) => ownerId));
      const older: InboxFeed[] = [];
      for (const feed of batch) {
        const inbox = found.get(feed.ownerId) ?? emptyInbox;
        if (feed.inbox && inbox.version < feed.inbox.version) older.push(feed);
        else if (inbox !== emptyInbox) feed.publish(inbox);
        feed.planPoll(begunAt);
      }
      await Promise.all(older.map((feed) => feed.refresh()));
      return undefined;
    } catch (error) {
      for (const feed of batch) feed.planRetry();
      return batch.length > 1 && isThrottled(error) ? pollEach(batch) : error;
    }
  }

  /** Polls each alone, because it may be few who are throttled; ends when several are. */
  async function pollEach(batch: readonly InboxFeed[]): Promise<unknown> {
    const errors: unknown[] = [];
    for (const feed of batch) {
      const error = await pollBatch([feed]);
      if (error !== undefined) errors.push(error);
      if (errors.length === maxThrottled) break;
    }
    return errors[0];
  }

  async function pollDue(): Promise<void> {
    const now = performance.now();
    const due = [...feeds.values()].filter((feed) => feed.isDue(now));
    if (due.length === 0) return;
    const results = await limit.map(inBatches(due, batchSize), pollBatch);
    const error = results.find((each) => each !== undefined);
    const hasFailed = error !== undefined;
    if (hasFailed && !failing) {
      log.warn({ err: describeError(error) }, "unread counts cannot be polled");
    }
    if (!hasFailed && failing) log.info("unread counts are polled again");
    failing = hasFailed;
  }

  async function tick(): Promise<void> {
    if (polling) return;
    polling = true;
    await pollDue();
    polling = false;
  }

  return {
    start() {
      timer ??= setInterval(() => void tick(), tickMs);
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
