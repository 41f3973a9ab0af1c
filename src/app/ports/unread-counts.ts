/** Streams of unread counts as the use cases see them. */
import type { Badge, Inbox } from "../../domain/inbox.ts";

/** An owner of a stream. */
export interface WatchedOwner {
  readonly ownerId: string;
  /** The version of the latest unread count that the client has; 0 for none. */
  readonly knownVersion: number;
}

/** One message of a stream. */
export type UnreadCountEvent =
  | { readonly ownerId: string; readonly version: number; readonly badge: Badge }
  /** The last message of a stream, which the client opens again after the delay. */
  | { readonly end: "TIME_LIMIT" | "DRAINING"; readonly reopenDelayMs: number };

/** Streams of unread counts. */
export interface UnreadCountStreams {
  /** Publishes the inbox that a commit of this process has written. */
  publish(ownerId: string, inbox: Inbox): void;
  /**
   * Yields the count of each owner at once, unless the client knows its version, and again when
   * the badge has changed, until `signal` is aborted, the time limit of the stream is over, or this
   * process drains. The owners are distinct; each takes one place of the limit of streams. Throws
   * TOO_MANY_STREAMS and DRAINING.
   */
  watch(owners: readonly WatchedOwner[], signal: AbortSignal): AsyncIterable<UnreadCountEvent>;
  /** Refuses new streams from now on, and ends each open one at a random time within `noticeMs`. */
  drain(noticeMs: number): void;
  /** Refuses new streams from now on, and ends the open ones. */
  close(): void;
}
