/** Follows the unread counts of owners, over as many streams as that takes. */
import type { Client } from "@connectrpc/connect";
import type {
  NotificationService,
  WatchUnreadCountResponse_Count,
} from "../gen/meguri/notifications/v1/notification_service_pb.ts";
import type { WatchOptions } from "./watch-bulk-grant.ts";

export interface OwnerWatch {
  readonly ownerId: string;
  /** The version of the unread count that the caller has; none by default. */
  readonly knownVersion?: bigint;
}

export async function* watchUnreadCounts(
  notifications: Client<typeof NotificationService>,
  watches: readonly OwnerWatch[],
  { signal }: WatchOptions,
): AsyncGenerator<WatchUnreadCountResponse_Count, void> {
  for (;;) {
    const request = { watches: watches.map((watch) => ({ ...watch })) };
    for await (const { event } of notifications.watchUnreadCount(request, signal ? { signal } : {}))
      if (event.case === "count") yield event.value;
  }
}
