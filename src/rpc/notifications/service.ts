/** The handlers of the NotificationService. */
import type { ServiceImpl } from "@connectrpc/connect";
import {
  markAllNotificationsRead,
  markNotificationRead,
  markNotificationsSeen,
} from "../../app/notifications/commands.ts";
import { inboxOf, unreadCountOf } from "../../app/notifications/inbox.ts";
import { notify } from "../../app/notifications/notify.ts";
import { listNotificationActors, listNotifications } from "../../app/notifications/queries.ts";
import type { Deps } from "../../app/ports/deps.ts";
import type { Inbox } from "../../domain/inbox.ts";
import {
  ListNotificationActorsRequestSchema,
  ListNotificationsRequestSchema,
  type NotificationService,
  ListNotificationsRequest_State as State,
} from "../../gen/meguri/notifications/v1/notification_service_pb.ts";
import { toTargetName } from "../reactions/targets.ts";
import { callerOf, deadlineOf } from "../server/context.ts";
import { requestedPage } from "../shared/page-tokens.ts";
import { toSafeInteger } from "../shared/scalars.ts";
import { decodeId } from "./ids.ts";
import { fromMember, fromNotification, fromUnreadCount } from "./messages.ts";
import { preferences } from "./preferences.ts";
import { unreadCountStreams } from "./watch.ts";

/** A page of notifications has so many at most: each needs its target. */
const maxNotifications = 100;

/** The state that a request selects. */
const states: Readonly<Partial<Record<State, "ALL" | "UNREAD" | "READ">>> = {
  [State.UNREAD]: "UNREAD",
  [State.READ]: "READ",
};

const fromInbox = (inbox: Inbox) => fromUnreadCount(unreadCountOf(inbox));

export function notificationService(deps: Deps): ServiceImpl<typeof NotificationService> {
  return {
    ...unreadCountStreams(deps),
    ...preferences(deps),

    async listNotifications(request) {
      const { ownerId, state } = request;
      const { page, next } = requestedPage(
        ListNotificationsRequestSchema,
        request,
        maxNotifications,
      );
      const found = await listNotifications(deps, ownerId, states[state] ?? "ALL", page);
      return { notifications: found.items.map(fromNotification), nextPageToken: next(found) };
    },

    getUnreadCount: async ({ ownerId }) => ({
      unreadCount: fromInbox(await inboxOf(deps, ownerId)),
    }),

    async markNotificationRead(request, context) {
      const version = toSafeInteger(request.version, "version");
      const { readVersion, ...name } = decodeId(request.notificationId, request.ownerId);
      if (readVersion !== undefined) {
        return { changed: false, unreadCount: fromInbox(await inboxOf(deps, name.ownerId)) };
      }
      const input = { ...name, version, deadline: deadlineOf(context) };
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

    async markNotificationsSeen(request, context) {
      const version = toSafeInteger(request.version, "version");
      const input = { ownerId: request.ownerId, version, deadline: deadlineOf(context) };
      return { unreadCount: fromInbox(await markNotificationsSeen(deps, input)) };
    },

    async listNotificationActors(request) {
      const { page, next } = requestedPage(ListNotificationActorsRequestSchema, request);
      const id = decodeId(request.notificationId, request.ownerId);
      const found = await listNotificationActors(deps, id, page);
      return { actors: found.items.map(fromMember), nextPageToken: next(found) };
    },

    async notify(request, context) {
      const { eventId, kind, userId, displayName } = request;
      return notify(deps, {
        eventId,
        target: toTargetName(request),
        kind,
        actor: { userId, displayName },
        caller: callerOf(context),
        deadline: deadlineOf(context),
      });
    },
  };
}
