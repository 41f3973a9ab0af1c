/** Sends the requests of the reactions models by RPC. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { encodeId } from "../../../src/feed/rpc/notifications/ids.ts";
import {
  type Preferences,
  Notification_Type as Type,
  type UnreadCount,
} from "../../../src/gen/meguri/notifications/v1/notification_pb.ts";
import type { Target } from "../../../src/gen/meguri/reactions/v1/target_pb.ts";
import { toRefusal } from "../servers/refusal.ts";
import type { Clients } from "../servers/server.ts";
import {
  type Answer,
  type Badge,
  type EventRequest,
  eventsOf,
  isSame,
  noTarget,
  plainKind,
  type Request,
  type RequestOf,
  type TargetName,
} from "./reactions-requests.ts";

/** The clients of a server that the requests need, also as another service. */
interface ReactionClients extends Pick<Clients, "reactions" | "notifications"> {
  clientsOf(service: string): Pick<Clients, "notifications">;
}

/** Calls the method of a request. Throws the error of a call that has no answer, or is refused. */
export async function answerByRpc(
  server: ReactionClients,
  ownerId: string,
  request: Exclude<Request, RequestOf<"readKindsToPurge">>,
): Promise<Answer> {
  switch (request.op) {
    case "register":
    case "react":
    case "unreact":
    case "delete":
      return changeTarget(server, ownerId, request);
    case "notify":
    case "retract": {
      const [answer] = await changeEvent(server, ownersOf(ownerId, request.target), request);
      return answer as Answer;
    }
    case "mute":
    case "mutePerson":
    case "block":
    case "prefer":
      return changeMutes(server, ownerId, request);
    default:
      return mark(server, ownerId, request);
  }
}

/** Calls a method of the ReactionService. */
async function changeTarget(
  { reactions }: ReactionClients,
  ownerId: string,
  request: RequestOf<"register" | "react" | "unreact" | "delete">,
): Promise<Answer> {
  switch (request.op) {
    case "register":
      return targetAnswerOf(
        (await reactions.registerTarget({ ...request, targetName: request.target, ownerId }))
          .target,
      );
    case "react": {
      const { silent: suppressNotification, target: targetName, ...plain } = request;
      const { kind, userId, displayName, exclusive, coolDownMs, regroupAfterMs } = plain;
      const { changed, reactionCount } = await reactions.react({
        targetName,
        kind,
        userId,
        displayName,
        exclusive,
        suppressNotification,
        ...(coolDownMs !== undefined && { coolDown: durationFromMs(coolDownMs) }),
        ...(regroupAfterMs !== undefined && { regroupAfter: durationFromMs(regroupAfterMs) }),
      });
      return { changed, reactionCount: Number(reactionCount) };
    }
    case "unreact": {
      const { changed, reactionCount } = await reactions.unreact({
        ...request,
        targetName: request.target,
      });
      return { changed, reactionCount: Number(reactionCount) };
    }
    case "delete":
      return targetAnswerOf((await reactions.deleteTarget({ targetName: request.target })).target);
  }
}

/** Sends an event, or retracts it, for several owners, each with an answer. */
export const answersByRpc = (
  server: ReactionClients,
  ownerIds: readonly string[],
  request: EventRequest,
): Promise<Answer[]> =>
  changeEvent(server, { ownerIds: [...ownerIds], ...aboutOf(request.target) }, request);

/** Reports an event or retracts it. Returns an answer for each owner. */
async function changeEvent(
  { clientsOf }: ReactionClients,
  owners: { readonly ownerIds?: string[]; readonly targetName?: TargetName },
  request: EventRequest,
): Promise<Answer[]> {
  const { service, eventId } = request;
  const { notifications } = clientsOf(service);
  if (request.op === "retract") {
    const { results } = await notifications.retractEvent({ ...owners, eventId });
    return results.map(({ changed }) => ({ changed }));
  }
  const { userId, displayName, link, regroupAfterMs } = request;
  const { results } = await notifications.notify({
    ...owners,
    kind: plainKind(request.kind),
    eventId,
    userId,
    displayName,
    link,
    data: Buffer.from(request.data),
    ...(regroupAfterMs !== undefined && { regroupAfter: durationFromMs(regroupAfterMs) }),
  });
  return results.map(({ notified, replayed, retracted }) => ({ notified, replayed, retracted }));
}

/** Changes what an owner wants to hear. */
async function changeMutes(
  server: ReactionClients,
  ownerId: string,
  request: RequestOf<"mute" | "mutePerson" | "block" | "prefer">,
): Promise<Answer> {
  const { notifications } = server;
  switch (request.op) {
    case "mute":
      return targetAnswerOf(
        (await notifications.setTargetMuted({ ...request, targetName: request.target, ownerId }))
          .target,
      );
    case "mutePerson": {
      const { changed } = await notifications.setPersonMuted({ ...request, ownerId });
      return { changed };
    }
    case "block": {
      const { userId } = request;
      const { changed, unreadCount } = await notifications.blockPerson({ ownerId, userId });
      return { changed, badge: badgeOf(unreadCount) };
    }
    case "prefer": {
      for (;;) {
        const before = await notifications.getPreferences({ ownerId });
        const changed = await update(server, ownerId, request, before.preferences?.etag ?? "");
        if (changed) return { preferences: preferencesOf(changed) };
      }
    }
  }
}

/** Marks notifications as read, unread or seen, or dismisses one. */
async function mark(
  { notifications }: ReactionClients,
  ownerId: string,
  request: RequestOf<"read" | "unread" | "dismiss" | "readAll" | "seen">,
): Promise<Answer> {
  switch (request.op) {
    case "read": {
      const version = BigInt(request.version);
      const notificationId = encodeId({ ...request, ownerId });
      const mark = await notifications.markNotificationRead({ ownerId, notificationId, version });
      return { changed: mark.changed, badge: badgeOf(mark.unreadCount) };
    }
    case "unread": {
      const notificationId = encodeId({ ...request, ownerId });
      const answer = await notifications.markNotificationUnread({ ownerId, notificationId });
      return { changed: answer.changed, badge: badgeOf(answer.unreadCount) };
    }
    case "dismiss": {
      const version = BigInt(request.version);
      const notificationId = encodeId({ ...request, ownerId });
      const answer = await notifications.dismissNotification({ ownerId, notificationId, version });
      return { changed: answer.changed, badge: badgeOf(answer.unreadCount) };
    }
    case "readAll": {
      const version = BigInt(request.version);
      const mark = await notifications.markAllNotificationsRead({ ownerId, version });
      return { markedCount: Number(mark.markedCount), badge: badgeOf(mark.unreadCount) };
    }
    case "seen": {
      const version = BigInt(request.version);
      const { unreadCount } = await notifications.markNotificationsSeen({ ownerId, version });
      return { badge: badgeOf(unreadCount) };
    }
  }
}

/** Updates the preferences. Undefined when they were changed since they had this etag. */
async function update(
  { notifications }: ReactionClients,
  ownerId: string,
  { preferences: { allMuted, mutedKinds, mutedEventKinds } }: RequestOf<"prefer">,
  etag: string,
): Promise<Preferences | undefined> {
  const kinds = { mutedKinds: [...mutedKinds], mutedEventKinds: [...mutedEventKinds] };
  const preferences = { ownerId, allMuted, ...kinds, etag };
  try {
    return (await notifications.updatePreferences({ preferences, updateMask: { paths: ["*"] } }))
      .preferences;
  } catch (error) {
    if (toRefusal(error).reason !== "ETAG_MISMATCH") throw error;
    return undefined;
  }
}

/** Who is notified of an event: the owner of its target, or one who is named. */
const ownersOf = (ownerId: string, target: TargetName) =>
  isSame(target, noTarget) ? { ownerIds: [ownerId] } : { targetName: target };

const aboutOf = (target: TargetName) => (isSame(target, noTarget) ? {} : { targetName: target });

export const badgeOf = (count: UnreadCount | undefined): Badge => ({
  version: Number(count?.version),
  notificationCount: Number(count?.notificationCount),
  actorCount: Number(count?.actorCount),
  unseenNotificationCount: Number(count?.unseenNotificationCount),
  kindCounts: Object.fromEntries(
    (count?.kindCounts ?? []).map(({ kind, type, notificationCount }) => [
      type === Type.EVENT ? eventsOf(kind) : kind,
      Number(notificationCount),
    ]),
  ),
});

export const preferencesOf = (preferences: Preferences | undefined) => ({
  allMuted: preferences?.allMuted ?? false,
  mutedKinds: preferences?.mutedKinds ?? [],
  mutedEventKinds: preferences?.mutedEventKinds ?? [],
});

function targetAnswerOf(target: Target | undefined): Answer {
  const { title = "", muted = false, deleteTime } = target ?? {};
  return { title, muted, deleted: deleteTime !== undefined };
}
