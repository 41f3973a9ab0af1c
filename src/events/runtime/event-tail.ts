/** Reads the log of events once for all calls, streams and subscriptions of a process. */
import pLimit from "p-limit";
import type { Logger } from "../../platform/observe/log.ts";
import { describeError } from "../../platform/ports/described-errors.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import { withJitter } from "../../platform/work/jitter.ts";
import type { EventTail } from "../ports/event-reads.ts";
import type { EventLogReader, LogTail } from "../ports/log.ts";
import { createLogBatches } from "./log-batches.ts";

/** How often the end of the log is read while somebody waits there, and after a failure. */
const usualPollMs: Milliseconds = 150;
const retryMs: Milliseconds = 1_000;
const pollJitter = 0.2;

interface EventTailDeps {
  readonly eventLog: EventLogReader;
  readonly log: Logger;
  readonly pollMs?: Milliseconds;
}

/** Polls the end of the log while somebody waits there, and reads nothing else by itself. */
export function createEventTail({ eventLog, log, pollMs = usualPollMs }: EventTailDeps): EventTail {
  const oneAtATime = pLimit(1);
  /** What wakes each call that waits, and the number of the batch that it waits for. */
  const waiting = new Map<() => void, number>();
  let known: LogTail | undefined;
  let joined: Promise<LogTail | undefined> | undefined;
  let isPolling = false;
  let failing = false;

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
    try {
      await end();
      if (failing) log.info("the end of the log of events is read again");
      failing = false;
    } catch (error) {
      const err = describeError(error);
      if (!failing) log.warn({ err }, "the end of the log of events cannot be read");
      failing = true;
    }
    setTimeout(pollOn, withJitter(failing ? retryMs : pollMs, pollJitter));
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
