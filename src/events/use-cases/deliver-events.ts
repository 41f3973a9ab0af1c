/** Delivers the events of one subscription: at least once, and those of each subject in order. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { DeliveryLog } from "../ports/deliveries.ts";
import type { LogBatch, LogTail, TimedPosition } from "../ports/log.ts";
import type { SubscriptionState } from "../ports/records.ts";
import { isWanted } from "../published/filter.ts";
import { missedEvents } from "../published/missed-events.ts";
import { sourceOf } from "../published/to-event.ts";
import { createDeliveryHealth, type RetryTiming } from "./delivery-health.ts";
import { createDeliveryWindow, type DeliveryWindow } from "./delivery-window.ts";
import { type Sending, type SendingDeps, startSending } from "./event-sending.ts";
import type { Progress } from "./subscription-progress.ts";

export interface DeliveryTiming extends RetryTiming {
  /** The interval in which the position is stored and the status is shown. */
  readonly saveMs: Milliseconds;
  /** How long requests that are under way may go on at the end. */
  readonly drainMs: Milliseconds;
}

export const deliveryTiming: DeliveryTiming = {
  firstMs: 1_000,
  longestMs: 60_000,
  pauseAfterMs: 24 * 3_600_000,
  pausedMs: 15 * 60_000,
  saveMs: 5_000,
  drainMs: 5_000,
};

/** The deliveries of one subscription. */
export interface Deliveries extends SendingDeps {
  readonly log: DeliveryLog;
  readonly progress: Progress;
  /** The id of the installation, which its events name. */
  readonly installation: string;
  readonly timing: DeliveryTiming;
}

/**
 * Delivers until the signal aborts, or another process has stored a position. It stores the
 * position before which everything has arrived. So what a killed process has sent behind it is sent
 * again, and nothing is left out.
 */
export async function deliverEvents(work: Deliveries, signal: AbortSignal): Promise<void> {
  const { progress, log, timing, observer, now } = work;
  const tail = await log.tail(signal);
  const stored = tail && ((await progress.load()) ?? (await begin(work, tail)));
  if (!stored || !tail) return;
  const { failingSince, failure, pausedSince, ...start } = stored;
  const health = createDeliveryHealth({ failingSince, failure, pausedSince }, timing);
  const window = createDeliveryWindow(start);
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  const sending = startSending(work, window, health, ending.signal);
  const reading = createReading(work, tail, window, sending);

  async function save(): Promise<void> {
    try {
      const isMine = await progress.save({ ...window.position(), ...health.state() });
      if (!isMine) end();
    } catch (error) {
      observer.notStored(error);
    }
  }

  async function saveAtTimes(): Promise<void> {
    while (!ending.signal.aborted) {
      const seenTo = window.size() > 0 ? window.position().time : undefined;
      observer.show({
        behindMs: Math.max(0, now() - (seenTo ?? reading.seenTo())),
        waitingEvents: window.size(),
        pausedSince: health.state().pausedSince,
      });
      await sleep(timing.saveMs, undefined, { signal: ending.signal }).catch(() => {});
      if (!ending.signal.aborted) await save();
    }
  }

  const saving = saveAtTimes();
  try {
    await reading.run(ending.signal);
  } finally {
    end();
    signal.removeEventListener("abort", end);
    await Promise.all([sending.end(timing.drainMs), saving]);
    await save();
    observer.end();
  }
}

/** Stores where a new subscription begins. Undefined when another process has done so. */
async function begin(work: Deliveries, tail: LogTail): Promise<SubscriptionState | undefined> {
  const { subscription, log, progress } = work;
  const { logId, time } = tail;
  const position =
    subscription.start === "now"
      ? { number: tail.number + 1, time }
      : { number: await log.oldest() };
  const state = { logId, index: 0, ...position };
  return (await progress.save(state)) ? state : undefined;
}

/** Reads the log into the window. */
function createReading(
  { subscription, log, installation, observer, now }: Deliveries,
  { logId }: LogTail,
  window: DeliveryWindow,
  sending: Sending,
) {
  let readTo: TimedPosition = window.position();
  let seenTo: Instant = readTo.time ?? now();

  function advance(position: TimedPosition): void {
    readTo = position;
    window.advance(position);
  }

  /** Adds what is wanted of a batch from an index on. */
  async function add(batch: LogBatch, from: number, signal: AbortSignal): Promise<void> {
    const { number, time, events } = batch;
    for (const [index, event] of events.entries()) {
      if (index < from) continue;
      await sending.room();
      if (signal.aborted) return;
      const position: TimedPosition = { logId, number, index, time };
      if (isWanted(event, subscription.filter)) {
        window.add(event, position);
        sending.wake();
      }
      advance({ ...position, index: index + 1 });
    }
    advance({ logId, number: number + 1, index: 0, time });
    seenTo = time;
  }

  /** Adds the event that names what is not kept, at the position from which it is missing. */
  function addMissed(from: TimedPosition, endTime: Instant): void {
    const { name } = subscription;
    const { time: startTime, ...position } = from;
    const missed = { subscription: name, ...position, startTime, endTime };
    const event = missedEvents({ ...missed, source: sourceOf(installation, logId) });
    observer.missed(event.id);
    window.add(event, from);
    sending.wake();
  }

  async function run(signal: AbortSignal): Promise<void> {
    let missedFrom = readTo.logId === logId ? undefined : readTo;
    let next = missedFrom ? { number: await log.oldest(), index: 0 } : readTo;
    while (!signal.aborted) {
      const found = await log.next(next.number, signal);
      if (found === "end") {
        seenTo = missedFrom ? seenTo : now();
        continue;
      }
      if (found === "expired") {
        missedFrom ??= readTo;
        next = { number: Math.max(next.number + 1, await log.oldest()), index: 0 };
        continue;
      }
      if (missedFrom) addMissed(missedFrom, found.time);
      missedFrom = undefined;
      await add(found, next.index, signal);
      next = { number: found.number + 1, index: 0 };
    }
  }

  return { run, seenTo: () => seenTo };
}
