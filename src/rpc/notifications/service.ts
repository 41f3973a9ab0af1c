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
import type { Deps, WatchEvent } from "../../app/ports/deps.ts";
import { setTargetMuted } from "../../app/reactions/targets.ts";
import type { Inbox } from "../../domain/notification.ts";
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
import { askedPage } from "../server/page-tokens.ts";
import { fromInstant, toSafeInteger } from "../server/scalars.ts";

export function notificationService(deps: Deps): ServiceImpl<typeof NotificationService> {
  return {
    async listNotifications(request) {
      const { page, next } = askedPage(ListNotificationsRequestSchema, request);
      const state = request.state === State.READ ? "READ" : "UNREAD";
      const found = await listNotifications(deps, request.ownerId, state, page);
      return { notifications: found.items.map(fromNotification), nextPageToken: next(found) };
    },

    getUnreadCount: async ({ ownerId }) => ({
      unreadCount: fromInbox(await inboxOf(deps, ownerId)),
    }),

    async markNotificationRead(request, context) {
      const version = toSafeInteger(request.version, "version");
      const seen = { version, deadline: deadlineOf(context) };
      const { changed, inbox } = await markNotificationRead(deps, { ...toName(request), ...seen });
      return { changed, unreadCount: fromInbox(inbox) };
    },

    async markAllNotificationsRead(request, context) {
      const version = toSafeInteger(request.version, "version");
      const { marked, inbox } = await markAllNotificationsRead(deps, {
        owner: request.ownerId,
        version,
        deadline: deadlineOf(context),
      });
      return { markedCount: BigInt(marked), unreadCount: fromInbox(inbox) };
    },

    async listNotificationActors(request) {
      const { page, next } = askedPage(ListNotificationActorsRequestSchema, request);
      const numbers = {
        from: toSafeInteger(request.firstVersion, "first_version"),
        to: toSafeInteger(request.version, "version"),
      };
      const found = await listNotificationActors(deps, toName(request), numbers, page);
      const actors = found.items.map(({ time, ...actor }) => ({
        ...fromActor(actor),
        createTime: fromInstant(time),
      }));
      return { actors, nextPageToken: next(found) };
    },

    async *watchNotifications({ ownerId }, { signal }) {
      for await (const event of deps.watches.watch(ownerId, signal)) yield fromEvent(event);
    },

    async setTargetMuted(request, context) {
      const { ownerId: owner, muted } = request;
      const named = { owner, target: toTarget(request), deadline: deadlineOf(context) };
      return { target: fromTarget(await setTargetMuted(deps, { ...named, muted })) };
    },
  };
}

const toName = (
  request: Pick<MarkNotificationReadRequest, "ownerId" | "target" | "kind">,
): NotificationName => ({
  owner: request.ownerId,
  target: toTarget(request),
  kind: toKind(request.kind),
});

const fromInbox = ({ n, groups, people }: Inbox): MessageInitShape<typeof UnreadCountSchema> => ({
  peopleCount: BigInt(people),
  groupCount: BigInt(groups),
  version: BigInt(n),
});

const fromActor = ({ user, name }: { readonly user: string; readonly name: string }) => ({
  userId: user,
  actorName: name,
});

function fromNotification({
  group,
  target,
  text,
}: Notification): MessageInitShape<typeof NotificationSchema> {
  return {
    target: fromTarget(target),
    kind: group.kind,
    peopleCount: BigInt(group.people),
    text: { names: text.names, otherCount: BigInt(text.others) },
    firstActors: group.first.map(fromActor),
    latestActors: group.latest.map(fromActor),
    firstVersion: BigInt(group.from),
    version: BigInt(group.last),
    createTime: fromInstant(group.createTime),
    updateTime: fromInstant(group.updateTime),
    ...("readTime" in group && {
      readTime: fromInstant(group.readTime),
      expireTime: fromInstant(group.expireTime),
    }),
  };
}

const endReasons = { TIME_LIMIT: EndReason.TIME_LIMIT, DRAINING: EndReason.DRAINING } as const;

function fromEvent(event: WatchEvent): MessageInitShape<typeof WatchNotificationsResponseSchema> {
  return "end" in event
    ? { event: { case: "endReason", value: endReasons[event.end] } }
    : { event: { case: "unreadCount", value: fromInbox(event.inbox) } };
}
