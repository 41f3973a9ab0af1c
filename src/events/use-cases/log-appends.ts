/**
 * Appends to the log what several shards and gaps hand over at the same time: at once when nothing
 * was appended a moment ago, else all that comes meanwhile as one batch. Each batch holds the
 * positions of all shards, so many small ones would cost more than their events.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { StreamedTable } from "../ports/changes.ts";
import type { EventLog, LogState, LogTail } from "../ports/log.ts";
import type { Event } from "../published/event.ts";
import type { MadeEvents } from "./make-events.ts";

/** The bytes of events in a batch before they are compressed: an item has 400 KB at most. */
const maxBytes = 256 * 1_024;

export interface AppendTiming {
  /** A batch that is not full begins so long after the one before. */
  readonly batchMs: Milliseconds;
  /** A state that changes without events is stored so often. */
  readonly stateMs: Milliseconds;
}

const usualTiming: AppendTiming = { batchMs: 100, stateMs: 60_000 };

/** What is appended after each other, in one batch or in several. */
interface Handover {
  readonly table: StreamedTable;
  /** The events; those of one part are in one batch. */
  readonly parts: readonly MadeEvents[];
  /** Changes the state when so many of the parts are in the log. */
  readonly next: (state: LogState, parts: number) => LogState;
}

export interface AppendObservers {
  /** Called when events of a table are in the log. */
  onAppended(table: StreamedTable, events: number): void;
}

/** Another process has appended, so this one may not go on. */
export class StaleWriter extends Error {
  override readonly name = "StaleWriter";
}

export interface LogAppends {
  /**
   * Resolves when all parts are in the log. Without parts, the changed state is stored with the
   * next batch, or within a minute. Rejects, as all later ones do, when a batch could not be
   * appended.
   */
  append(handover: Handover): Promise<void>;
}

/** A handover whose parts are not all in the log. */
interface Waiting extends Handover {
  /** How many of its parts are in the log, or in the batch that is being appended. */
  taken: number;
  readonly done: PromiseWithResolvers<void>;
}

/** What one batch has of a handover. */
interface Share {
  readonly of: Waiting;
  readonly events: readonly Event[];
}

/** Appends behind `tail`, whose batch holds the state `begun`. */
export function createLogAppends(
  log: Pick<EventLog, "append">,
  tail: LogTail,
  begun: LogState,
  { onAppended }: AppendObservers,
  { batchMs, stateMs } = usualTiming,
): LogAppends {
  const waiting: Waiting[] = [];
  const unfinished = new Set<Waiting>();
  let { number, time } = tail;
  let state = begun;
  let storedAt = performance.now();
  let beganAt = Number.NEGATIVE_INFINITY;
  let isRunning = false;
  let failure: { readonly error: unknown } | undefined;

  /** Waits for more, unless nothing was appended a moment ago or a batch is full. */
  async function gather(): Promise<void> {
    const waitMs = beganAt + batchMs - performance.now();
    if (waitMs > 0 && bytesOf(waiting) < maxBytes) await sleep(waitMs);
    beganAt = performance.now();
  }

  async function appendBatch(): Promise<void> {
    await gather();
    const shares = takeBatch(waiting);
    for (const { of } of shares) state = of.next(state, of.taken);
    number += 1;
    time = Math.max(time, Date.now());
    const events = shares.flatMap((share) => share.events);
    if (!(await log.append({ number, time, events }, state))) {
      throw new StaleWriter(`another process has appended the batch ${number}`);
    }
    storedAt = performance.now();
    for (const { of, events } of shares) {
      if (events.length > 0) onAppended(of.table, events.length);
      if (of.taken < of.parts.length) continue;
      unfinished.delete(of);
      of.done.resolve();
    }
  }

  async function run(): Promise<void> {
    isRunning = true;
    try {
      while (waiting.length > 0) await appendBatch();
    } catch (error) {
      failure = { error };
      for (const { done } of unfinished) done.reject(error);
    }
    isRunning = false;
  }

  return {
    async append(handover) {
      if (failure) throw failure.error;
      const { parts, next } = handover;
      if (parts.length === 0 && performance.now() - storedAt < stateMs) {
        state = next(state, 0);
        return;
      }
      const each = { ...handover, taken: 0, done: Promise.withResolvers<void>() };
      waiting.push(each);
      unfinished.add(each);
      if (!isRunning) void run();
      await each.done.promise;
    },
  };
}

/** The bytes of all that waits. */
const bytesOf = (waiting: readonly Waiting[]): number =>
  waiting
    .flatMap(({ parts, taken }) => parts.slice(taken))
    .reduce((sum, { bytes }) => sum + bytes, 0);

/** Takes what fits into one batch, and at least one part. */
function takeBatch(waiting: Waiting[]): Share[] {
  const shares: Share[] = [];
  let sum = 0;
  for (let of = waiting[0]; of; of = waiting[0]) {
    const from = of.taken;
    for (const { bytes } of of.parts.slice(from)) {
      if (sum > 0 && sum + bytes > maxBytes) break;
      sum += bytes;
      of.taken += 1;
    }
    const isWhole = of.taken === of.parts.length;
    if (isWhole || of.taken > from) {
      shares.push({ of, events: of.parts.slice(from, of.taken).flatMap(({ events }) => events) });
    }
    if (!isWhole) break;
    waiting.shift();
  }
  return shares;
}
