/** The types that all server streams have in common. */
import type { Milliseconds } from "../words/units.ts";

/** The call that opens a stream. */
export interface StreamCall {
  /** The calling service. It shares the server's streams with other services. */
  readonly service: string;
  /** Aborted when the call ends. */
  readonly signal: AbortSignal;
}

/** The last message of a stream that the client opens again after the delay. */
export interface StreamEnd {
  /** TIME_LIMIT: it was open for about 30 minutes. DRAINING: the server is about to stop. */
  readonly end: "TIME_LIMIT" | "DRAINING";
  readonly reopenDelayMs: Milliseconds;
}

/** The streams of one kind. Their `watch` throws TOO_MANY_STREAMS and DRAINING. */
export interface Streams {
  /** Refuses new streams from now on, and ends each open one at a random time within `noticeMs`. */
  drain(noticeMs: Milliseconds): void;
  /** Refuses new streams from now on, and ends the open ones. */
  close(): void;
}
