/** The calls that the benchmarks of reactions and notifications make. */

import { encodeId } from "../../src/feed/rpc/notifications/ids.ts";
import { defaultKind } from "../../src/feed/rules/kinds.ts";
import type { Target } from "../../src/feed/rules/target.ts";
import { registerTarget } from "../../src/feed/use-cases/reactions/targets.ts";
import type { Notification } from "../../src/gen/meguri/notifications/v1/notification_pb.ts";
import {
  ListNotificationsRequest_State,
  NotificationService,
} from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import { ReactionService } from "../../src/gen/meguri/reactions/v1/reaction_service_pb.ts";
import type { Channel } from "./rpc.ts";
import type { Stack } from "./stack.ts";

const { react, unreact, batchGetReactionSummaries } = ReactionService.method;
const { getUnreadCount, listNotifications, markNotificationRead, setTargetMuted } =
  NotificationService.method;

/** A target and its owner. */
export interface Liked {
  readonly target: { readonly type: string; readonly id: string };
  readonly ownerId: string;
}

/** Comment number `i`, the only one of its owner. All names have one length. */
export function commentOf(i: number): Liked {
  const number = String(i).padStart(7, "0");
  return { target: { type: "comment", id: `comment-${number}` }, ownerId: `owner-${number}` };
}

/** Registers the target in this process, without a server. */
export const register = ({ deps }: Stack, { target, ownerId }: Liked): Promise<Target> =>
  registerTarget(deps, { target, ownerId, title: "A comment", link: `/comments/${target.id}` });

let people = 0;
const run = Date.now().toString(36);

/** The id of a person without reactions. All have one length. */
export const newPerson = (): string => `person-${run}-${String(++people).padStart(7, "0")}`;

/** The name of all people. */
export const displayName = "Yamada Hanako";

export const like = (
  channel: Channel,
  { target }: Liked,
  userId = newPerson(),
  kind: string = defaultKind,
): Promise<void> => channel.send(react, { targetName: target, userId, displayName, kind });

export const unlike = (
  channel: Channel,
  { target }: Liked,
  userId: string,
  kind: string = defaultKind,
): Promise<void> => channel.send(unreact, { targetName: target, userId, kind });

/** Marks likes of a comment as read up to a version: those of the unread line that began at one. */
export const markRead = (
  channel: Channel,
  { target, ownerId }: Liked,
  version: bigint,
  generation = 1,
): Promise<void> => {
  const notificationId = encodeId({ ownerId, kind: defaultKind, target, generation });
  return channel.send(markNotificationRead, { ownerId, notificationId, version });
};

/** An unread line as a list shows it. */
export type UnreadLine = Pick<Notification, "notificationId" | "version">;

/** The unread line of likes of a comment, if there is one. */
export async function unreadLine(
  channel: Channel,
  { target, ownerId }: Liked,
): Promise<UnreadLine | undefined> {
  const request = { ownerId, state: ListNotificationsRequest_State.UNREAD };
  const { notifications } = await channel.call(listNotifications, request);
  return notifications.find((each) => each.target?.targetName?.id === target.id);
}

/** Marks a line as read, as it was listed. */
export const markLine = (
  channel: Channel,
  { ownerId }: Liked,
  { notificationId, version }: UnreadLine,
): Promise<void> => channel.send(markNotificationRead, { ownerId, notificationId, version });

/** Mutes a comment. */
export const mute = (channel: Channel, { target, ownerId }: Liked): Promise<void> =>
  channel.send(setTargetMuted, { ownerId, targetName: target, muted: true });

/** The calls of an owner's front page: the badge, and the first page of unread notifications. */
export async function readUnread(channel: Channel, { ownerId }: Liked): Promise<void> {
  await channel.send(getUnreadCount, { ownerId });
  await channel.send(listNotifications, { ownerId, state: ListNotificationsRequest_State.UNREAD });
}

export const summaries = (
  channel: Channel,
  all: readonly Liked[],
  viewerId: string,
  includeLatestActors = false,
): Promise<void> =>
  channel.send(batchGetReactionSummaries, {
    targetNames: all.map(({ target }) => target),
    viewerId,
    includeLatestActors,
  });
