/** Sends the progress of bulk grants to open streams, by polling the store. */

import type { Logger } from "../../platform/observe/log.ts";
import { OpenStreams } from "../../platform/streams/open-streams.ts";
import type { Stream, Watch } from "../../platform/streams/stream.ts";
import type { BulkGrantEvent, BulkGrantStreams } from "../ports/bulk-grants.ts";
import { activeStates, type BulkGrantName } from "../rules/bulk-grant.ts";
import {
  type BulkGrantFeed,
  type BulkGrantSource,
  type BulkGrantUpdate,
  createBulkGrantFeed,
} from "./bulk-grant-feed.ts";

interface BulkGrantStreamsDeps extends BulkGrantSource {
  readonly log: Logger;
  /** The most streams that may be open at a time. */
  readonly maxStreams: number;
}

/**
 * Polls every bulk grant with an open stream, each once however many streams it has; polls nothing
 * while no stream is open.
 */
export function createBulkGrantStreams(deps: BulkGrantStreamsDeps): BulkGrantStreams {
  const { log, maxStreams } = deps;
  const feeds = new Map<string, BulkGrantFeed>();
  const streams = new OpenStreams<BulkGrantEvent>(maxStreams);

  /** Begins with what is stored now; ends when the bulk grant cannot be read. */
  async function begin(stream: Stream<BulkGrantEvent>, name: BulkGrantName): Promise<void> {
    const key = `${name.programId}#${name.bulkGrantId}`;
    const feed = feeds.get(key) ?? createBulkGrantFeed(deps, name, log);
    feeds.set(key, feed);
    const notify = () => stream.notify(watch);
    let isOpen = false;
    let sent: BulkGrantUpdate | undefined;
    const watch: Watch<BulkGrantEvent> = {
      take() {
        const update = isOpen ? feed.latest() : undefined;
        if (!update || update === sent) return undefined;
        sent = update;
        if (!activeStates.includes(update.bulkGrant.state)) stream.finish({ end: "FINAL" });
        return { bulkGrant: update.bulkGrant, progress: update.progress };
      },
      stop() {
        feed.watchers.delete(notify);
        if (feed.watchers.size > 0) return;
        feed.stop();
        feeds.delete(key);
      },
    };
    stream.add(watch);
    feed.watchers.add(notify);
    await feed.refresh();
    isOpen = true;
    notify();
  }

  return {
    watch: (name, call) => streams.open(call, 1, (stream) => begin(stream, name)),
    drain: (noticeMs) => streams.drain(noticeMs),
    close() {
      streams.close();
      for (const feed of feeds.values()) feed.stop();
    },
  };
}
