/** Maps notifications and unread counts to messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type EventSchema,
  type NotificationSchema,
  Notification_Type as Type,
  type UnreadCountSchema,
} from "../../../gen/meguri/notifications/v1/notification_pb.ts";
import type { ActorSchema } from "../../../gen/meguri/reactions/v1/actor_pb.ts";
import { fromInstant, fromOptionalInstant } from "../../../platform/messages/scalars.ts";
import type { Event } from "../../rules/event.ts";
import { isEventKind, kindName, type StoredKind } from "../../rules/kinds.ts";
import type { Member } from "../../rules/unread-group.ts";
import type { UnreadCount } from "../../use-cases/notifications/inbox.ts";
import type { Notification } from "../../use-cases/notifications/queries.ts";
import { fromTarget } from "../reactions/service.ts";
import { encodeId } from "./ids.ts";

export const fromUnreadCount = ({
  actorCount,
  notificationCount,
  unseenNotificationCount,
  kindCounts,
  version,
}: UnreadCount): MessageInitShape<typeof UnreadCountSchema> => ({
  actorCount: BigInt(actorCount),
  notificationCount: BigInt(notificationCount),
  version: BigInt(version),
  unseenNotificationCount: BigInt(unseenNotificationCount),
  kindCounts: Object.entries(kindCounts).map(fromKindCount).sort(byKind),
});

const fromKindCount = ([kind, count]: readonly [StoredKind, number]) => ({
  kind: kindName(kind),
  type: isEventKind(kind) ? Type.EVENT : Type.REACTION,
  notificationCount: BigInt(count),
});

/** In alphabetical order, reactions before events of the same name. */
function byKind(a: ReturnType<typeof fromKindCount>, b: ReturnType<typeof fromKindCount>): number {
  if (a.kind === b.kind) return a.type - b.type;
  return a.kind < b.kind ? -1 : 1;
}

export const fromMember = ({
  userId,
  displayName,
  createTime,
}: Omit<Member, "version">): MessageInitShape<typeof ActorSchema> => ({
  userId,
  displayName,
  createTime: fromInstant(createTime),
});

export const fromEvent = ({
  eventId,
  userId,
  displayName,
  link,
  data,
  cause = "",
  createTime,
}: Event): MessageInitShape<typeof EventSchema> => ({
  eventId,
  userId,
  displayName,
  link,
  data,
  cause,
  createTime: fromInstant(createTime),
});

const types = { REACTION: Type.REACTION, EVENT: Type.EVENT } as const;

export function fromNotification(
  notification: Notification,
): MessageInitShape<typeof NotificationSchema> {
  const { kind, seen, firstMembers, latestMembers, readTime, expireTime } = notification;
  const [first] = firstMembers as [Member];
  const [latest] = latestMembers as [Member];
  return {
    notificationId: encodeId(notification.id),
    target: notification.target && fromTarget(notification.target),
    kind,
    type: types[notification.type],
    actorCount: BigInt(notification.actorCount),
    firstActors: notification.firstPeople.map(fromMember),
    latestActors: notification.latestPeople.map(fromMember),
    eventCount: BigInt(notification.eventCount),
    latestEvents: notification.latestEvents.map(fromEvent),
    version: BigInt(notification.version),
    createTime: fromInstant(first.createTime),
    updateTime: fromInstant(latest.createTime),
    seen,
    readTime: fromOptionalInstant(readTime),
    expireTime: fromOptionalInstant(expireTime),
  };
}
