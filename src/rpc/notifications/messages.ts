/** Maps notifications and unread counts to messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { UnreadCount } from "../../app/notifications/inbox.ts";
import type { Notification } from "../../app/notifications/queries.ts";
import type { Member } from "../../domain/unread-group.ts";
import {
  type NotificationSchema,
  Notification_Type as Type,
  type UnreadCountSchema,
} from "../../gen/meguri/notifications/v1/notification_pb.ts";
import type { ActorSchema } from "../../gen/meguri/reactions/v1/actor_pb.ts";
import { fromTarget } from "../reactions/targets.ts";
import { fromInstant } from "../shared/scalars.ts";
import { encodeId } from "./ids.ts";

export const fromUnreadCount = ({
  actorCount,
  notificationCount,
  unseenNotificationCount,
  version,
}: UnreadCount): MessageInitShape<typeof UnreadCountSchema> => ({
  actorCount: BigInt(actorCount),
  notificationCount: BigInt(notificationCount),
  version: BigInt(version),
  unseenNotificationCount: BigInt(unseenNotificationCount),
});

export const fromMember = ({
  userId,
  displayName,
  createTime,
}: Omit<Member, "version">): MessageInitShape<typeof ActorSchema> => ({
  userId,
  displayName,
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
    target: fromTarget(notification.target),
    kind,
    type: types[notification.type],
    actorCount: BigInt(notification.actorCount),
    firstActors: firstMembers.map(fromMember),
    latestActors: latestMembers.map(fromMember),
    version: BigInt(notification.version),
    createTime: fromInstant(first.createTime),
    updateTime: fromInstant(latest.createTime),
    seen,
    ...(readTime !== undefined && { readTime: fromInstant(readTime) }),
    ...(expireTime !== undefined && { expireTime: fromInstant(expireTime) }),
  };
}
