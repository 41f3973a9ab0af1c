/** The handler of the NotificationService that streams unread counts. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  WatchUnreadCountsResponse_End_Cause as Cause,
  type NotificationService,
  type WatchUnreadCountsRequest,
  type WatchUnreadCountsResponseSchema,
} from "../../../gen/meguri/notifications/v1/notification_service_pb.ts";
import { streamCallOf } from "../../../platform/edge/context.ts";
import { toSafeInteger } from "../../../platform/messages/scalars.ts";
import type { StreamEnd } from "../../../platform/ports/streams.ts";
import type { Deps } from "../../ports/deps.ts";
import type { UnreadCount, WatchedOwner } from "../../ports/unread-counts.ts";
import { fromUnreadCount } from "./messages.ts";

export const unreadCountStreams = ({
  unreadCounts,
}: Pick<Deps, "unreadCounts">): Pick<
  ServiceImpl<typeof NotificationService>,
  "watchUnreadCounts"
> => ({
  async *watchUnreadCounts(request, context) {
    const events = unreadCounts.watch(toOwners(request), streamCallOf(context));
    for await (const event of events) yield fromEvent(event);
  },
});

const toOwners = ({ watches }: WatchUnreadCountsRequest): WatchedOwner[] =>
  watches.map(({ ownerId, knownVersion }, i) => ({
    ownerId,
    knownVersion: toSafeInteger(knownVersion, `watches[${i}].known_version`),
  }));

const causes = { TIME_LIMIT: Cause.TIME_LIMIT, DRAINING: Cause.DRAINING } as const;

function fromEvent(
  event: UnreadCount | StreamEnd,
): MessageInitShape<typeof WatchUnreadCountsResponseSchema> {
  if ("end" in event) {
    const reopenDelay = durationFromMs(event.reopenDelayMs);
    return { content: { case: "end", value: { cause: causes[event.end], reopenDelay } } };
  }
  const { ownerId, version, badge } = event;
  const unreadCount = fromUnreadCount({ ...badge, version });
  return { content: { case: "update", value: { ownerId, unreadCount } } };
}
