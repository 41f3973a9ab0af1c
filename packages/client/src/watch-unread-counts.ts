/** Follows the unread counts of owners, over as many streams as that takes. */
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import type {
  KindCount,
  UnreadCount,
} from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
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

/** What the caller has of one owner. The count is undefined if only its version is known. */
interface Delivered {
  version: bigint;
  count: UnreadCount | undefined;
}

/**
 * In this time the streams of a server that vanished come to the others. A server has up to 10,000
 * of them, and another one opens a thousand a second beside its other calls.
 */
const returnMs = 10_000;

/** Yields each count that differs from the owner's last one. */
export function watchUnreadCounts(
  notifications: Client<typeof NotificationService>,
  watches: readonly OwnerWatch[],
  options: WatchOptions,
): AsyncGenerator<WatchUnreadCountsResponse_Update, void> {
  const delivered = new Map<string, Delivered>();
  for (const { ownerId, knownVersion = 0n } of watches) {
    delivered.set(ownerId, { version: knownVersion, count: undefined });
  }

  /**
   * Whether the count is new. Its version is kept in any case, for the next stream. A lower one
   * than before says that the table was restored from a backup.
   */
  function isNew(ownerId: string, count: UnreadCount): boolean {
    const last = delivered.get(ownerId);
    if (!last) return false;
    const isFirst = last.count === undefined && last.version === 0n;
    const isKnown = last.version === count.version || isSame(last.count, count);
    delivered.set(ownerId, { version: count.version, count });
    return isFirst || !isKnown;
  }

  async function* open(
    signal: AbortSignal,
  ): AsyncGenerator<StreamEvent<WatchUnreadCountsResponse_Update>> {
    const request = {
      watches: Array.from(delivered, ([ownerId, { version }]) => ({
        ownerId,
        knownVersion: version,
      })),
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

const isSame = (a: UnreadCount | undefined, b: UnreadCount): boolean =>
  a?.notificationCount === b.notificationCount &&
  a.actorCount === b.actorCount &&
  a.unseenNotificationCount === b.unseenNotificationCount &&
  textOf(a.kindCounts) === textOf(b.kindCounts);

const textOf = (counts: readonly KindCount[]): string =>
  counts.map(({ kind, type, notificationCount }) => `${kind} ${type} ${notificationCount}`).join();
