/** The latest known progress of one bulk grant, polled from the store. */
import pLimit from "p-limit";
import type { Logger } from "../../platform/observe/log.ts";
import { describeError } from "../../platform/ports/described-errors.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { withJitter } from "../../platform/work/jitter.ts";
import type { BulkGrantEvent, BulkGrantProgress } from "../ports/bulk-grants.ts";
import type { Reader } from "../ports/deps.ts";
import { bulkGrantRef } from "../ports/records.ts";
import type { BulkGrant, BulkGrantName } from "../rules/bulk-grant.ts";

/** The time between two polls, with a jitter, so that servers do not stay in step. */
const pollMs = 1_000;
const pollJitter = 0.1;

/** What a feed reads. */
export interface BulkGrantSource {
  readonly reader: Pick<Reader, "get">;
  readonly progressOf: (bulkGrant: BulkGrant) => Promise<BulkGrantProgress>;
}

/** A bulk grant and its progress, as streams send them. */
export type BulkGrantUpdate = Extract<BulkGrantEvent, { bulkGrant: unknown }>;

/** A bulk grant with open streams. */
export interface BulkGrantFeed {
  /** The listeners, called after each change. */
  readonly watchers: Set<() => void>;
  /** The last one that was read: another object only if it has changed. */
  latest(): BulkGrantUpdate | undefined;
  /**
   * Reads what is stored now. Refusal: BULK_GRANT_NOT_FOUND. Also throws what the reader throws.
   */
  refresh(): Promise<void>;
  /** Ends the polls. */
  stop(): void;
}

/** Creates the feed of a bulk grant and begins to poll it. Its polls never throw. */
export function createBulkGrantFeed(
  { reader, progressOf }: BulkGrantSource,
  { programId, bulkGrantId }: BulkGrantName,
  log: Logger,
): BulkGrantFeed {
  const watchers = new Set<() => void>();
  const oneAtATime = pLimit(1);
  let latest: (BulkGrantUpdate & { readonly version: number }) | undefined;
  let waiting: Promise<void> | undefined;
  let timer: NodeJS.Timeout;
  let stopped = false;
  let failing = false;

  async function read(): Promise<void> {
    const found = await reader.get(bulkGrantRef(programId, bulkGrantId));
    if (!found) {
      throw new DomainError("BULK_GRANT_NOT_FOUND", `there is no bulk grant ${bulkGrantId}`);
    }
    const { value: bulkGrant, version } = found;
    const progress = await progressOf(bulkGrant);
    if (version === latest?.version && isSame(progress, latest.progress)) return;
    latest = { bulkGrant, progress, version };
    for (const notify of watchers) notify();
  }

  /** Joins a read that has not begun. One that has may not see what was stored before the call. */
  function refresh(): Promise<void> {
    waiting ??= oneAtATime(() => {
      waiting = undefined;
      return read();
    });
    return waiting;
  }

  async function poll(): Promise<void> {
    const name = { programId, bulkGrantId };
    try {
      await refresh();
      if (failing) log.info(name, "the bulk grant is polled again");
      failing = false;
    } catch (error) {
      const err = describeError(error);
      if (!failing) log.warn({ ...name, err }, "the bulk grant cannot be polled");
      failing = true;
    }
    if (!stopped) planPoll();
  }

  function planPoll(): void {
    timer = setTimeout(() => void poll(), withJitter(pollMs, pollJitter));
  }

  planPoll();
  return {
    watchers,
    latest: () => latest,
    refresh,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

const isSame = (a: BulkGrantProgress, b: BulkGrantProgress): boolean =>
  a.grantedCount === b.grantedCount &&
  a.grantedPoints === b.grantedPoints &&
  a.failedCount === b.failedCount;
