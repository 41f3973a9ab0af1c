/** The handlers of the NotificationService. */
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ListNotificationActorsRequestSchema,
  ListNotificationsRequestSchema,
  MarkAllNotificationsReadRequestSchema,
  type NotificationService,
  ListNotificationsRequest_State as State,
} from "../../../gen/meguri/notifications/v1/notification_service_pb.ts";
import { callOf } from "../../../platform/edge/context.ts";
import { requestedPage } from "../../../platform/messages/page-tokens.ts";
import { toSafeInteger } from "../../../platform/messages/scalars.ts";
import type { Deps } from "../../ports/deps.ts";
import type { Inbox } from "../../rules/inbox.ts";
import { eventKind } from "../../rules/kinds.ts";
import {
  dismissNotification,
  markAllNotificationsRead,
  markNotificationRead,
  markNotificationsSeen,
  markNotificationUnread,
} from "../../use-cases/notifications/commands.ts";
import { inboxOf, unreadCountOf } from "../../use-cases/notifications/inbox.ts";
import {
  describeGroup,
  getNotification,
  listNotificationActors,
  listNotifications,
  readNotification,
} from "../../use-cases/notifications/queries.ts";
import { toKinds } from "../kinds.ts";
import { events } from "./events.ts";
import { decodeId } from "./ids.ts";
import { fromEvent, fromMember, fromNotification, fromUnreadCount } from "./messages.ts";
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
    ...events(deps),

    async listNotifications(request) {
      const { ownerId, state } = request;
      const { page, next } = requestedPage(
        ListNotificationsRequestSchema,
        request,
        maxNotifications,
      );
      const reactionKinds = toKinds(request.reactionKinds, "reaction_kinds");
      const eventKinds = toKinds(request.eventKinds, "event_kinds");
      const kinds = [...reactionKinds, ...eventKinds.map(eventKind)];
      const filter = { ownerId, state: states[state] ?? "ALL", kinds };
      const found = await listNotifications(deps, filter, page);
      return { notifications: found.items.map(fromNotification), nextPageToken: next(found) };
    },

    async getNotification({ notificationId, ownerId }) {
      const found = await getNotification(deps, decodeId(notificationId, ownerId));
      return { notification: fromNotification(found) };
    },

    getUnreadCount: async ({ ownerId }) => ({
      unreadCount: fromInbox(await inboxOf(deps, ownerId)),
    }),

    async markNotificationRead(request, context) {
      const version = toSafeInteger(request.version, "version");
      const name = decodeId(request.notificationId, request.ownerId);
      const input = { ...name, version, ...callOf(context) };
      const { changed, inbox } = await markNotificationRead(deps, input);
      const read = await readNotification(deps, name);
      const notification = read && fromNotification(read);
      return { changed, unreadCount: fromInbox(inbox), notification };
    },

    async markAllNotificationsRead(request, context) {
      const version = toSafeInteger(request.version, "version");
      const { page, next } = requestedPage(MarkAllNotificationsReadRequestSchema, request);
      const found = await markAllNotificationsRead(deps, {
        ownerId: request.ownerId,
        version,
        cursor: page.cursor,
        ...callOf(context),
      });
      const unreadCount = fromInbox(found.inbox);
      return {
        markedCount: BigInt(found.markedCount),
        unreadCount,
        nextPageToken: next(found),
      };
    },

    async markNotificationUnread(request, context) {
      const name = decodeId(request.notificationId, request.ownerId);
      const marked = await markNotificationUnread(deps, { ...name, ...callOf(context) });
      const { changed, inbox } = marked;
      const unread = await describeGroup(deps, name.ownerId, marked, inbox.seenVersion);
      return { changed, unreadCount: fromInbox(inbox), notification: fromNotification(unread) };
    },

    async dismissNotification(request, context) {
      const version = toSafeInteger(request.version, "version");
      const name = decodeId(request.notificationId, request.ownerId);
      const input = { ...name, version, ...callOf(context) };
      const { changed, inbox } = await dismissNotification(deps, input);
      return { changed, unreadCount: fromInbox(inbox) };
    },

    async markNotificationsSeen(request, context) {
      const version = toSafeInteger(request.version, "version");
      const input = { ownerId: request.ownerId, version, ...callOf(context) };
      return { unreadCount: fromInbox(await markNotificationsSeen(deps, input)) };
    },

    async listNotificationActors(request) {
      const { page, next } = requestedPage(ListNotificationActorsRequestSchema, request);
      const id = decodeId(request.notificationId, request.ownerId);
      const found = await listNotificationActors(deps, id, page);
      const listed = found.items.flatMap((each) => ("eventId" in each ? fromEvent(each) : []));
      const actors = found.items.map(fromMember);
      return { actors, events: listed, nextPageToken: next(found) };
    },
  };
}
