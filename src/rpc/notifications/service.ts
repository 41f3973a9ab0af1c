/** The handlers of the NotificationService. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  inboxOf,
  markAllNotificationsRead,
  markNotificationRead,
  type NotificationName,
} from "../../app/notifications/commands.ts";
import {
  listNotificationActors,
  listNotifications,
  type Notification,
} from "../../app/notifications/queries.ts";
import type { Deps } from "../../app/ports/deps.ts";
import type { UnreadCountEvent } from "../../app/ports/unread-counts.ts";
import { setTargetMuted } from "../../app/reactions/targets.ts";
import type { Actor, Inbox } from "../../domain/notification.ts";
import type {
  NotificationSchema,
  UnreadCountSchema,
} from "../../gen/meguri/notifications/v1/notification_pb.ts";
import {
  WatchNotificationsResponse_EndReason as EndReason,
  ListNotificationActorsRequestSchema,
  ListNotificationsRequestSchema,
  type MarkNotificationReadRequest,
  type NotificationService,
  ListNotificationsRequest_State as State,
  type WatchNotificationsResponseSchema,
} from "../../gen/meguri/notifications/v1/notification_service_pb.ts";
import { fromTarget, toKind, toTarget } from "../reactions/targets.ts";
import { deadlineOf } from "../server/context.ts";
import { requestedPage } from "../server/page-tokens.ts";
import { fromInstant, toSafeInteger } from "../server/scalars.ts";

export function notificationService(deps: Deps): ServiceImpl<typeof NotificationService> {
  return {
    async listNotifications(request) {
      const { page, next } = requestedPage(ListNotificationsRequestSchema, request);
      const state = request.state === State.READ ? "READ" : "UNREAD";
      const found = await listNotifications(deps, request.ownerId, state, page);
      return { notifications: found.items.map(fromNotification), nextPageToken: next(found) };
    },

    getUnreadCount: async ({ ownerId }) => ({
      unreadCount: fromInbox(await inboxOf(deps, ownerId)),
    }),

    async markNotificationRead(request, context) {
      const version = toSafeInteger(request.version, "version");
      const deadline = deadlineOf(context);
      const input = { ...toName(request), version, deadline };
      const { changed, inbox } = await markNotificationRead(deps, input);
      return { changed, unreadCount: fromInbox(inbox) };
    },

    async markAllNotificationsRead(request, context) {
      const version = toSafeInteger(request.version, "version");
      const { markedCount, inbox } = await markAllNotificationsRead(deps, {
        ownerId: request.ownerId,
        version,
        deadline: deadlineOf(context),
      });
      return { markedCount: BigInt(markedCount), unreadCount: fromInbox(inbox) };
    },

    async listNotificationActors(request) {
      const { page, next } = requestedPage(ListNotificationActorsRequestSchema, request);
      const versions = {
        from: toSafeInteger(request.firstVersion, "first_version"),
        to: toSafeInteger(request.version, "version"),
      };
      const found = await listNotificationActors(deps, toName(request), versions, page);
      const actors = found.items.map(({ createTime, ...actor }) => ({
        ...fromActor(actor),
        createTime: fromInstant(createTime),
      }));
      return { actors, nextPageToken: next(found) };
    },

    async *watchNotifications({ ownerId }, { signal }) {
      for await (const event of deps.unreadCounts.watch(ownerId, signal)) yield fromEvent(event);
    },

    async setTargetMuted(request, context) {
      const { ownerId, muted } = request;
      const input = { ownerId, target: toTarget(request), muted, deadline: deadlineOf(context) };
      return { target: fromTarget(await setTargetMuted(deps, input)) };
    },
  };
}

const toName = (
  request: Pick<MarkNotificationReadRequest, "ownerId" | "target" | "kind">,
): NotificationName => ({
  ownerId: request.ownerId,
  target: toTarget(request),
  kind: toKind(request.kind),
});

const fromInbox = ({
  version,
  groupCount,
  peopleCount,
}: Inbox): MessageInitShape<typeof UnreadCountSchema> => ({
  peopleCount: BigInt(peopleCount),
  groupCount: BigInt(groupCount),
  version: BigInt(version),
});

const fromActor = ({ userId, actorName }: Actor) => ({ userId, actorName });

function fromNotification({
  group,
  target,
  text,
}: Notification): MessageInitShape<typeof NotificationSchema> {
  return {
    target: fromTarget(target),
    kind: group.kind,
    peopleCount: BigInt(group.peopleCount),
    text: { names: text.names, otherCount: BigInt(text.otherCount) },
    firstActors: group.firstActors.map(fromActor),
    latestActors: group.latestActors.map(fromActor),
    firstVersion: BigInt(group.firstVersion),
    version: BigInt(group.version),
    createTime: fromInstant(group.createTime),
    updateTime: fromInstant(group.updateTime),
    ...("readTime" in group && {
      readTime: fromInstant(group.readTime),
      expireTime: fromInstant(group.expireTime),
    }),
  };
}

const endReasons = { TIME_LIMIT: EndReason.TIME_LIMIT, DRAINING: EndReason.DRAINING } as const;

function fromEvent(
  event: UnreadCountEvent,
): MessageInitShape<typeof WatchNotificationsResponseSchema> {
  return "end" in event
    ? { event: { case: "endReason", value: endReasons[event.end] } }
    : { event: { case: "unreadCount", value: fromInbox(event.inbox) } };
}
