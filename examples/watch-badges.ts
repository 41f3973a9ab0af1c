/** Keeps the badges of up to 100 owners current; docs/call/notifications.md has more. */
import { durationMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema, RetryInfoSchema } from "../src/gen/google/rpc/error_details_pb.ts";
import type { UnreadCount } from "../src/gen/meguri/notifications/v1/notification_pb.ts";
import type { NotificationService } from "../src/gen/meguri/notifications/v1/notification_service_pb.ts";

/**
 * Calls `show` with each unread count that is new. Ends by an error: a refusal, or the abort. The
 * transport adds the caller or the token. Runs in Node and in browsers.
 */
export async function watchBadges(
  notifications: Client<typeof NotificationService>,
  ownerIds: readonly string[],
  show: (ownerId: string, badge: UnreadCount) => void,
  signal: AbortSignal,
): Promise<never> {
  const versions = new Map(ownerIds.map((ownerId) => [ownerId, 0n]));
  for (;;) {
    const watches = Array.from(versions, ([ownerId, knownVersion]) => ({ ownerId, knownVersion }));
    let delayMs = 1_000;
    let hasMessages = false;
    try {
      for await (const { content } of notifications.watchUnreadCounts({ watches }, { signal })) {
        hasMessages = true;
        if (content.case === "update" && content.value.unreadCount) {
          const { ownerId, unreadCount } = content.value;
          versions.set(ownerId, unreadCount.version);
          show(ownerId, unreadCount);
        } else if (content.case === "end" && content.value.reopenDelay) {
          delayMs = durationMs(content.value.reopenDelay);
        }
      }
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      // A stream ends with its token. The next one has a new token, or is refused at once.
      const hasExpired = hasMessages && error.code === Code.Unauthenticated;
      delayMs = hasExpired ? 0 : delayAfter(error, hasMessages);
    }
    await sleep(delayMs, signal);
  }
}

/** How long to wait after a failure, in milliseconds. Throws an error that is a refusal. */
function delayAfter(error: ConnectError, hasMessages: boolean): number {
  const [retry] = error.findDetails(RetryInfoSchema);
  const isRefusal = error.findDetails(ErrorInfoSchema).length > 0;
  if (isRefusal && !retry && error.code !== Code.DeadlineExceeded) throw error;
  const leastMs = retry?.retryDelay ? durationMs(retry.retryDelay) : 1_000;
  // The streams of a server that was killed break together. The random part spreads their return.
  return leastMs + (hasMessages ? 10_000 : leastMs) * Math.random();
}

/** Waits for some milliseconds. Throws the reason of an abort. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
