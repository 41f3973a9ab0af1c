/** Reads the log of events once for all calls, streams and subscriptions of a process. */
import pLimit from "p-limit";
import type { Milliseconds } from "../../platform/words/units.ts";
import { withJitter } from "../../platform/work/jitter.ts";
import type { EventTail } from "../ports/event-reads.ts";
import type { EventLogReader, LogTail } from "../ports/log.ts";
import { createLogBatches } from "./log-batches.ts";
import type { NoteReading } from "./log-readings.ts";

/** How often the end of the log is read while somebody waits there, and after a failure. */
const usualPollMs: Milliseconds = 150;
const retryMs: Milliseconds = 1_000;
const pollJitter = 0.2;

interface EventTailDeps {
  readonly eventLog: EventLogReader;
  readonly note: NoteReading;
  readonly pollMs?: Milliseconds;
}

/** Polls the end of the log while somebody waits there, and reads nothing else by itself. */
export function createEventTail({
  eventLog,
  note,
  pollMs = usualPollMs,
}: EventTailDeps): EventTail {
  const oneAtATime = pLimit(1);
  /** What wakes each call that waits, and the number of the batch that it waits for. */
  const waiting = new Map<() => void, number>();
  let known: LogTail | undefined;
  let joined: Promise<LogTail | undefined> | undefined;
  let isPolling = false;

  const reaches = (number: number): boolean => known !== undefined && known.number >= number;

  async function readEnd(): Promise<LogTail | undefined> {
    known = await eventLog.tail();
    for (const [wake, number] of waiting) if (reaches(number)) wake();
    return known;
  }

  /** Joins a read that has not begun: one that has may not see the last batch before the call. */
  function end(): Promise<LogTail | undefined> {
    joined ??= oneAtATime(() => {
      joined = undefined;
      return readEnd();
    });
    return joined;
  }

  async function poll(): Promise<void> {
    let pauseMs = pollMs;
    try {
      await end();
      note();
    } catch (error) {
      note(error);
      pauseMs = retryMs;
    }
    setTimeout(pollOn, withJitter(pauseMs, pollJitter));
  }

  function pollOn(): void {
    isPolling = waiting.size > 0;
    if (isPolling) void poll();
  }

  return {
    end,
    read: createLogBatches(eventLog, () => known?.number ?? 0),
    async waitFor(number, ms, signal) {
      if (reaches(number) || signal.aborted) return reaches(number);
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => resolve();
      const timer = setTimeout(wake, ms);
      signal.addEventListener("abort", wake);
      waiting.set(wake, number);
      if (!isPolling) pollOn();
      await promise;
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      waiting.delete(wake);
      return reaches(number);
    },
  };
}
