/** Streams of unread counts as the use cases see them. */
import type { Inbox } from "../../domain/notification.ts";

/** One message of a stream. */
export type UnreadCountEvent =
  | { readonly inbox: Inbox }
  /** The last message of a stream, which the client should open again. */
  | { readonly end: "TIME_LIMIT" | "DRAINING" };

/** Streams of unread counts. */
export interface UnreadCountStreams {
  /** Publishes the inbox that a commit of this process has written. */
  publish(ownerId: string, inbox: Inbox): void;
  /**
   * Yields the current count at once, then every newer one, until `signal` is aborted, the time
   * limit of a stream is over, or this process drains. Throws TOO_MANY_STREAMS.
   */
  watch(ownerId: string, signal: AbortSignal): AsyncIterable<UnreadCountEvent>;
  /** Ends every stream; a stream opened from now on ends at once. */
  close(): void;
}
