/** Reads one shard of a stream, from its position to its end. */
import { setTimeout as sleep } from "node:timers/promises";
import type { _Record as Record } from "@aws-sdk/client-dynamodb-streams";
import type { LimitFunction } from "p-limit";
import type { Item } from "../../platform/dynamodb/sdk/attributes.ts";
import type { Logger } from "../../platform/observe/log.ts";
import type { Instant } from "../../platform/words/month.ts";
import { retryDelay } from "../../platform/work/jitter.ts";
import type { ShardPosition, StoredChange, StreamedTable, Taken } from "../ports/changes.ts";
import type { ReadableShard } from "./lineage.ts";
import { type RecordPage, refusalOf, type StreamRefusal, type StreamRequests } from "./requests.ts";

/** The item of a change before and after it. */
export interface ChangedItem {
  readonly keys: Item;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

/** Finds the records of a changed item. Never throws. */
export type DecodeChange = (
  table: StreamedTable,
  item: ChangedItem,
) => Pick<StoredChange, "before" | "after" | "unreadable">;

export interface ShardReaderDeps {
  readonly requests: StreamRequests;
  readonly decode: DecodeChange;
  /** The time of the store, as far as it is known. */
  readonly now: () => Instant;
  readonly log: Logger;
}

/** The shard to be read. */
export interface ShardStart extends Pick<ReadableShard, "id" | "isMissing"> {
  /** How far it was read. All changes up to its time were, of this shard or of its parents. */
  readonly position: ShardPosition;
  /** Whether its position was never taken. */
  readonly isNew: boolean;
}

/** Why the reading of a shard is over. Changes of a lost shard may have been missed. */
export type ShardEnd = "ended" | "lost" | "stopped";

export interface ShardReading {
  readonly done: Promise<ShardEnd>;
  /** Up to when the shard was read; undefined: all that it had at the last request was. */
  behindSince(): Instant | undefined;
  /** Up to when the shard was read. */
  readTime(): Instant;
}

/** How long a stream keeps changes, without the time that a request may take. */
const keptMs = 24 * 3_600_000 - 5 * 60_000;

/** How long a shard is left alone that had no changes, or only a few. */
const pollMs = 250;

/** With so many changes, or with one that is so old, more of them follow at once. */
const manyChanges = 100;
const oldMs = 90_000;

/** How often the position of an empty shard moves on. */
const checkpointMs = 60_000;

/** What one step of a reading has found. */
type Step = ShardEnd | "more" | "all" | "failed";

/**
 * Reads a shard until it ends, is lost, or the signal aborts. `done` rejects with what `take`
 * throws. `limit` is that of all shards of the table: each holds a page of changes while it has a
 * turn.
 */
export function readShard(
  { requests, decode, now, log }: ShardReaderDeps,
  shard: ShardStart,
  limit: LimitFunction,
  take: (taken: Extract<Taken, { kind: "changes" }>) => Promise<void>,
  signal: AbortSignal,
): ShardReading {
  const { id, isMissing } = shard;
  let { position, isNew } = shard;
  const { table } = position;
  let readTime = position.time;
  let hasAll = false;
  let iterator: string | undefined;
  /** When the empty answers began of which the position does not know yet. */
  let emptySince: Instant | undefined;

  /** The next page, or what it means that there is none. */
  async function read(): Promise<RecordPage | Step> {
    try {
      if (iterator === undefined && isTooOld(position, now())) return "lost";
      iterator ??= await requests.iterator(id, position, signal);
    } catch (error) {
      return isMissing && refusalOf(error) === "trimmed" ? "lost" : failed(error, "ended");
    }
    try {
      return await requests.records(iterator, signal);
    } catch (error) {
      iterator = undefined;
      return failed(error, "failed");
    }
  }

  function failed(error: unknown, trimmed: Step): Step {
    if (signal.aborted) return "stopped";
    const refusal = refusalOf(error);
    if (refusal) return meaningOf(refusal, position, trimmed);
    log.warn({ err: error, table, shard: id }, "a shard could not be read; trying again");
    return "failed";
  }

  /** Takes changes, or none, and moves the position on. */
  async function takeAll(changes: readonly StoredChange[], moved: ShardPosition): Promise<void> {
    await take({ kind: "changes", changes, shard: id, position: moved });
    position = moved;
    isNew = false;
  }

  const end = async (): Promise<Step> => {
    await takeAll([], { ...position, ended: true });
    return "ended";
  };

  async function takePage(records: readonly Record[], isLast: boolean): Promise<Step> {
    const changes = records.map((record) => changeOf(table, record, decode));
    const time = Math.max(position.time, changes.at(-1)?.time ?? 0);
    readTime = Math.max(readTime, time);
    emptySince = undefined;
    const sequence = changes.at(-1)?.sequence;
    await takeAll(changes, { ...position, sequence, time, ...(isLast && { ended: true }) });
    return isLast ? "ended" : stepBehind(changes, now());
  }

  async function takeNothing(sent: Instant): Promise<Step> {
    readTime = Math.max(readTime, sent);
    emptySince ??= sent;
    const isDue = sent - emptySince >= checkpointMs;
    if (isDue || isNew) {
      // An answer may be empty although changes follow, so only what was empty for long is sure.
      const time = isDue ? Math.max(position.time, emptySince) : position.time;
      await takeAll([], { ...position, time });
      if (isDue) emptySince = sent;
    }
    return "all";
  }

  async function step(): Promise<Step> {
    if (signal.aborted) return "stopped";
    const sent = now();
    const page = await read();
    if (page === "ended") return end();
    if (typeof page === "string") return page;
    if (signal.aborted) return "stopped";
    iterator = page.next;
    const isLast = page.next === undefined;
    if (page.records.length > 0) return takePage(page.records, isLast);
    return isLast ? end() : takeNothing(sent);
  }

  async function run(): Promise<ShardEnd> {
    let failures = 0;
    for (;;) {
      const found = await limit(step);
      hasAll = found === "all" || found === "ended";
      failures = found === "failed" ? failures + 1 : 0;
      if (failures > 0) await pause(retryDelay(failures), signal);
      if (found === "all") await pause(pollMs, signal);
      if (found === "ended" || found === "lost" || found === "stopped") return found;
    }
  }

  return {
    done: run(),
    behindSince: () => (hasAll ? undefined : readTime),
    readTime: () => readTime,
  };
}

const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => {});

/** Whether more changes follow at once behind these. */
function stepBehind(changes: readonly StoredChange[], now: Instant): Step {
  const lastTime = changes.at(-1)?.time ?? 0;
  return changes.length >= manyChanges || now - lastTime > oldMs ? "more" : "all";
}

/** What a refusal means; `trimmed`: for a shard of which all that is gone was read. */
function meaningOf(refusal: StreamRefusal, { sequence }: ShardPosition, trimmed: Step): Step {
  if (refusal === "expired") return "failed";
  return refusal === "trimmed" && sequence === undefined ? trimmed : "lost";
}

/** Whether records behind a position without a sequence number may be gone without an error. */
const isTooOld = ({ sequence, time }: ShardPosition, now: Instant): boolean =>
  sequence === undefined && now - time > keptMs;

/** The change in a record of a stream. */
function changeOf(table: StreamedTable, record: Record, decode: DecodeChange): StoredChange {
  const { dynamodb = {}, userIdentity, eventName } = record;
  const { Keys = {}, OldImage, NewImage, ApproximateCreationDateTime: time } = dynamodb;
  return {
    table,
    time: time?.getTime() ?? 0,
    sequence: dynamodb.SequenceNumber,
    ...decode(table, { keys: Keys as Item, before: OldImage as Item, after: NewImage as Item }),
    isExpiry: eventName === "REMOVE" && userIdentity?.PrincipalId === "dynamodb.amazonaws.com",
  };
}
