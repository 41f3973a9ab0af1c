/** One open stream of the progress of a bulk grant. */
import type { BulkGrantEvent } from "../app/ports/bulk-grants.ts";
import { activeStates } from "../domain/bulk-grant.ts";
import type { BulkGrantFeed, BulkGrantUpdate } from "./bulk-grant-feed.ts";
import { streamLimitMs } from "./stream-limit.ts";

/** A stream. */
export interface BulkGrantStream {
  readonly feed: BulkGrantFeed;
  events(): AsyncGenerator<BulkGrantEvent, void>;
  /** Ends it with DRAIN after this many ms, instead of at its limit. */
  drainAfter(ms: number): void;
  /** Ends it with DRAIN at once. */
  drain(): void;
  /** Ends it without a last event. */
  close(): void;
}

/**
 * Opens a stream of a feed. It begins with what is stored now, and keeps only what it has sent
 * last, so a client that reads slowly gets the latest progress and skips earlier ones. It throws
 * what its first read throws.
 */
export function openBulkGrantStream(feed: BulkGrantFeed): BulkGrantStream {
  let notified = Promise.withResolvers<void>();
  let isOpen = false;
  let sent: BulkGrantUpdate | undefined;
  /** Set when the stream has to end. Returns its last event, if any, or throws. */
  let last: (() => BulkGrantEvent | undefined) | undefined;
  let timer = setTimeout(() => end("TIME"), streamLimitMs());

  const notify = (): void => notified.resolve();

  function endWith(event: () => BulkGrantEvent | undefined): void {
    clearTimeout(timer);
    last ??= event;
    notify();
  }

  const end = (reason: "FINAL" | "DRAIN" | "TIME"): void => endWith(() => ({ end: reason }));

  async function open(): Promise<void> {
    try {
      await feed.refresh();
      isOpen = true;
      notify();
    } catch (error) {
      endWith(() => {
        throw error;
      });
    }
  }

  feed.watchers.add(notify);
  void open();
  return {
    feed,

    async *events() {
      while (!last) {
        notified = Promise.withResolvers();
        const update = isOpen ? feed.latest() : undefined;
        if (update && update !== sent) {
          sent = update;
          yield { bulkGrant: update.bulkGrant, progress: update.progress };
          if (!activeStates.includes(update.bulkGrant.state)) end("FINAL");
        } else {
          await notified.promise;
        }
      }
      const event = last();
      if (event) yield event;
    },

    drainAfter(ms) {
      clearTimeout(timer);
      timer = setTimeout(() => end("DRAIN"), ms);
    },

    drain: () => end("DRAIN"),

    close() {
      endWith(() => undefined);
      feed.watchers.delete(notify);
    },
  };
}
