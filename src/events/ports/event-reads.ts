/** How the log of events is read page by page: by calls that wait, and by streams. */
import type { StreamCall, StreamEnd, Streams } from "../../platform/ports/streams.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { Event } from "../published/event.ts";
import type { LogBatch, LogPosition, LogTail } from "./log.ts";

/** Where to begin, and which events. */
export interface EventRead {
  /** Absent: begins at `startTime`. */
  readonly position?: LogPosition | undefined;
  /** Absent, without a position: begins with what is appended from now on. */
  readonly startTime?: Instant | undefined;
  readonly isWanted: (event: Event) => boolean;
}

export interface EventPage {
  readonly events: readonly Event[];
  /** The position behind these events and those that were not wanted. */
  readonly next: LogPosition;
  /** Whether the log had no further batch when the page was read. */
  readonly isAtEnd: boolean;
}

/** The log, which a process reads once for all calls, streams and subscriptions. */
export interface EventTail {
  /** Reads where the log ends. Calls at one moment share the read. */
  end(): Promise<LogTail | undefined>;
  /**
   * At least one batch from `number` on, unless it is not kept. Calls for one number share it.
   * Services take turns, however many calls each of them has.
   */
  read(number: number, service: string): Promise<readonly LogBatch[]>;
  /**
   * Waits until there is a batch of this number, `ms` have passed, or the signal is aborted.
   * Returns whether there is one. Throws nothing: while the store does not answer, there is none.
   */
  waitFor(number: number, ms: Milliseconds, signal: AbortSignal): Promise<boolean>;
}

/** The calls and streams that wait for events. */
export interface EventStreams extends Streams {
  /**
   * Yields pages as they come, at least one every 10 seconds, which may be empty. Reads the next
   * page when the last one was taken. Also throws CURSOR_EXPIRED, and what the store throws.
   */
  watch(read: EventRead, call: StreamCall): AsyncIterable<EventPage | StreamEnd>;
  /**
   * Waits for a batch as `EventTail.waitFor`, and until the server drains. Throws TOO_MANY_STREAMS
   * when the service, or all, have too many calls that wait.
   */
  waitFor(number: number, ms: Milliseconds, call: StreamCall): Promise<boolean>;
}
