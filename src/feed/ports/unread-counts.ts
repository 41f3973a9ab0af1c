/** Streams of unread counts as the use cases see them. */

import type { StreamCall, StreamEnd, Streams } from "../../platform/ports/streams.ts";
import type { Badge, Inbox } from "../rules/inbox.ts";

/** An owner of a stream. */
export interface WatchedOwner {
  readonly ownerId: string;
  /** The version of the latest unread count that the client has; 0 for none. */
  readonly knownVersion: number;
}

/** The unread count of one owner, as streams send it. */
export interface UnreadCount {
  readonly ownerId: string;
  readonly version: number;
  readonly badge: Badge;
}

/** Streams of unread counts. */
export interface UnreadCountStreams extends Streams {
  /** Publishes the inbox that a commit of this process has written. */
  publish(ownerId: string, inbox: Inbox): void;
  /**
   * Yields the count of each owner at once, unless nothing has changed since the version that the
   * client knows, and again when a notification has changed, until the call ends, the time
   * limit of the stream is over, or this process drains. The owners are distinct; each takes one
   * place of the limit of streams. A count is older than the one before only if the table was
   * restored from a backup.
   */
  watch(owners: readonly WatchedOwner[], call: StreamCall): AsyncIterable<UnreadCount | StreamEnd>;
}
