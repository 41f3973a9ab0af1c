/** Keeps the badges of up to 100 owners current by one stream; docs/notifications.md has more. */
import { setTimeout as sleep } from "node:timers/promises";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema, RetryInfoSchema } from "../src/gen/google/rpc/error_details_pb.ts";
import type { UnreadCount } from "../src/gen/meguri/notifications/v1/notification_pb.ts";
import type { NotificationService } from "../src/gen/meguri/notifications/v1/notification_service_pb.ts";

/** Calls `show` with each unread count that is new. Ends by an error: a refusal, or the abort. */
export async function watchBadges(
  notifications: Client<typeof NotificationService>,
  ownerIds: readonly string[],
  show: (ownerId: string, badge: UnreadCount) => void,
  signal: AbortSignal,
): Promise<never> {
  const versions = new Map(ownerIds.map((ownerId) => [ownerId, 0n]));
  const options = { headers: { "meguri-caller": "shop" }, signal };
  for (;;) {
    const watches = Array.from(versions, ([ownerId, knownVersion]) => ({ ownerId, knownVersion }));
    let delayMs = 1_000;
    try {
      for await (const { content } of notifications.watchUnreadCounts({ watches }, options)) {
        if (content.case === "update" && content.value.unreadCount) {
          const { ownerId, unreadCount } = content.value;
          versions.set(ownerId, unreadCount.version);
          show(ownerId, unreadCount);
        } else if (content.case === "end" && content.value.reopenDelay) {
          delayMs = durationMs(content.value.reopenDelay);
        }
      }
    } catch (error) {
      delayMs = delayAfter(ConnectError.from(error));
    }
    await sleep(delayMs, undefined, { signal });
  }
}

/** How long to wait after a failure, in milliseconds. Throws an error that is a refusal. */
function delayAfter(error: ConnectError): number {
  const [retry] = error.findDetails(RetryInfoSchema);
  const isRefusal = error.findDetails(ErrorInfoSchema).length > 0;
  if (isRefusal && !retry && error.code !== Code.DeadlineExceeded) throw error;
  const leastMs = retry?.retryDelay ? durationMs(retry.retryDelay) : 1_000;
  // The streams of a server that was killed break together. The random part spreads their return.
  return leastMs * (1 + Math.random());
}
