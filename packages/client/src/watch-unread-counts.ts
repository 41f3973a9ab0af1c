/** Follows the unread counts of owners, over as many streams as that takes. */
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import type { UnreadCount } from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import type {
  NotificationService,
  WatchUnreadCountsResponse_Update,
} from "../../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { reopen, type StreamEvent, type WatchOptions } from "./reopen.ts";

/** An owner whose unread count is watched. */
export interface OwnerWatch {
  readonly ownerId: string;
  /** The version of the unread count that the caller has; none by default. */
  readonly knownVersion?: bigint;
}

/**
 * In this time the streams of a server that vanished come to the others. A server has up to 10,000
 * of them, and another one opens a thousand a second beside its other calls.
 */
const returnMs = 10_000;

/** Yields each count of another version than the owner's last one. */
export function watchUnreadCounts(
  notifications: Client<typeof NotificationService>,
  watches: readonly OwnerWatch[],
  options: WatchOptions,
): AsyncGenerator<WatchUnreadCountsResponse_Update, void> {
  /** The versions that the caller has; undefined for none. */
  const delivered = new Map<string, bigint | undefined>();
  for (const { ownerId, knownVersion = 0n } of watches) {
    delivered.set(ownerId, knownVersion > 0n ? knownVersion : undefined);
  }

  /**
   * Whether the count is new: of another version, for the next stream to begin after it. A lower
   * one than before says that the table was restored from a backup.
   */
  function isNew(ownerId: string, { version }: UnreadCount): boolean {
    const isKnown = !delivered.has(ownerId) || delivered.get(ownerId) === version;
    if (!isKnown) delivered.set(ownerId, version);
    return !isKnown;
  }

  async function* open(
    signal: AbortSignal,
  ): AsyncGenerator<StreamEvent<WatchUnreadCountsResponse_Update>> {
    const request = {
      watches: Array.from(delivered, ([ownerId, knownVersion = 0n]) => ({ ownerId, knownVersion })),
    };
    for await (const { content } of notifications.watchUnreadCounts(request, { signal })) {
      if (content.case === "update") {
        const { ownerId, unreadCount } = content.value;
        const isKnown = !unreadCount || !isNew(ownerId, unreadCount);
        yield isKnown ? { isKnown } : { value: content.value };
      } else if (content.case === "end") {
        const { reopenDelay } = content.value;
        yield { reopenMs: reopenDelay ? durationMs(reopenDelay) : 0 };
      }
    }
  }

  return reopen(options, open, returnMs);
}
