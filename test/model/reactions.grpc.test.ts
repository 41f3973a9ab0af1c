/** Compares random histories of reactions, sent through gRPC to two servers, with the oracle. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import {
  type Notification,
  type Preferences,
  Notification_Type as Type,
  type UnreadCount,
} from "../../src/gen/meguri/notifications/v1/notification_pb.ts";
import * as rpc from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import {
  type ReactionSummary_Count,
  ReactionSummary_StateSchema,
} from "../../src/gen/meguri/reactions/v1/reaction_pb.ts";
import type { Target } from "../../src/gen/meguri/reactions/v1/target_pb.ts";
import { decodeId, encodeId } from "../../src/rpc/notifications/ids.ts";
import { allResponses } from "../support/fixtures/pages.ts";
import { purge } from "../support/models/reactions-memory.ts";
import { play, type System } from "../support/models/reactions-model.ts";
import {
  type Answer,
  type Badge,
  eventsOf,
  isEvents,
  isSame,
  type NotificationName,
  noTarget,
  plainKind,
  type Request,
  type RequestOf,
  type TargetName,
  textOf,
} from "../support/models/reactions-requests.ts";
import {
  eventText,
  label,
  type Selection,
  type Shown,
  type ShownNotification,
  type ShownTarget,
  shownText,
} from "../support/models/reactions-shown.ts";
import { history } from "../support/models/reactions-templates.ts";
import { answerTo, titleAndMuted } from "../support/models/reactions-use-cases.ts";
import { assertSeeded } from "../support/models/seeded.ts";
import { toRefusal } from "../support/servers/refusal.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";

const State = rpc.ListNotificationsRequest_State;

let one: TestServer;
let two: TestServer;

beforeAll(async () => {
  one = await startServer({ testClock: false });
  two = await startServer({ testClock: false, tablePrefix: one.config.tablePrefix });
});

afterAll(async () => {
  await two.stop();
  await one.stop();
});

const { count, seed } = inject("grpcHistories");

test(`${count} histories equal the oracle after every step`, async () => {
  let histories = 0;
  const property = fc.asyncProperty(history(12, false), (steps) => {
    histories += 1;
    return play(steps, { system, now: Date.now(), prefix: `history-${histories}-` });
  });
  await assertSeeded(property, count, 60_000 * count, seed);
});

const system: System = {
  visible: ({ unread, read, targets, ...rest }) => ({
    ...rest,
    changeVersion: 0,
    unread: unread.map(withoutTimes),
    read: read.map(withoutTimes),
    targets: targets.map((target) => ({ ...target, records: {}, withdrawn: [] })),
  }),
  send: (ownerId, request, process) => answer(process === 0 ? one : two, ownerId, request),
  show,
  async reactionsOf(userId) {
    const { reactions } = await two.reactions.listUserReactions({ userId, pageSize: 200 });
    return reactions.map(({ targetName: target, kind }) => `${target?.type}/${target?.id} ${kind}`);
  },
  purge: (_, target) => purge(two.deps, target),
  wait: () => 0,
  faults: () => undefined,
  race: (work) => work(),
};

const withoutTimes = (shown: ShownNotification): ShownNotification => ({
  ...shown,
  versions: [],
  times: [],
});

async function answer(server: TestServer, ownerId: string, request: Request): Promise<Answer> {
  try {
    return await send(server, ownerId, request);
  } catch (error) {
    const { reason, retries } = toRefusal(error);
    if (retries) throw error;
    return { refused: reason };
  }
}

async function send(server: TestServer, ownerId: string, request: Request): Promise<Answer> {
  const { reactions, notifications, deps } = server;
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
    case "notify": {
      const { service, eventId, userId, displayName, link, regroupAfterMs } = request;
      const { results } = await server.clientsOf(service).notifications.notify({
        ...ownersOf(ownerId, request.target),
        kind: plainKind(request.kind),
        eventId,
        userId,
        displayName,
        link,
        data: Buffer.from(request.data),
        ...(regroupAfterMs !== undefined && { regroupAfter: durationFromMs(regroupAfterMs) }),
      });
      const { notified = false, replayed = false, retracted = false } = results[0] ?? {};
      return { notified, replayed, retracted };
    }
    case "retract": {
      const { service, eventId, target } = request;
      const event = { ...ownersOf(ownerId, target), eventId };
      const { results } = await server.clientsOf(service).notifications.retractEvent(event);
      return { changed: results[0]?.changed ?? false };
    }
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
    case "delete":
      return targetAnswerOf((await reactions.deleteTarget({ targetName: request.target })).target);
    case "readKindsToPurge":
      // There is no RPC: an activity of a worker calls this use case.
      return answerTo(deps, ownerId, request);
  }
}

/** Updates the preferences. Undefined when they were changed since they had this etag. */
async function update(
  { notifications }: TestServer,
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

const badgeOf = (count: UnreadCount | undefined): Badge => ({
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

const preferencesOf = (preferences: Preferences | undefined) => ({
  allMuted: preferences?.allMuted ?? false,
  mutedKinds: preferences?.mutedKinds ?? [],
  mutedEventKinds: preferences?.mutedEventKinds ?? [],
});

function targetAnswerOf(target: Target | undefined): Answer {
  const { title = "", muted = false, deleteTime } = target ?? {};
  return { title, muted, deleted: deleteTime !== undefined };
}

async function show(ownerId: string, selection: Selection): Promise<Shown> {
  const list = async (state: rpc.ListNotificationsRequest_State, kinds: readonly string[] = []) => {
    const [reactionKinds, eventKinds] = [
      kinds.filter((kind) => !isEvents(kind)),
      kinds.filter(isEvents),
    ];
    const filter = { state, reactionKinds, eventKinds: eventKinds.map(plainKind) };
    // Small pages, so that lists have several.
    const pages = await allResponses((pageToken) =>
      two.notifications.listNotifications({ ownerId, ...filter, pageSize: 4, pageToken }),
    );
    return pages.flatMap(({ notifications }) => notifications);
  };
  const notifications = async (state: rpc.ListNotificationsRequest_State) =>
    Promise.all((await list(state)).map((each) => notificationOf(ownerId, each)));
  const { unreadCount } = await one.notifications.getUnreadCount({ ownerId });
  const { preferences } = await one.notifications.getPreferences({ ownerId });
  const { targets } = await one.notifications.listMutedTargets({ ownerId, pageSize: 200 });
  const { userIds } = await two.notifications.listMutedPeople({ ownerId, pageSize: 200 });
  const asText = (each: Notification) =>
    shownText({
      ...nameOf(ownerId, each),
      version: Number(each.version),
      actorCount: Number(each.actorCount),
      seen: each.seen,
    });
  return {
    badge: badgeOf(unreadCount),
    changeVersion: 0,
    unread: await notifications(State.UNREAD),
    read: await notifications(State.READ),
    merged: (await list(State.UNSPECIFIED)).map(asText),
    filtered: (await list(State.UNSPECIFIED, selection.filter)).map(asText),
    named: await Promise.all(
      selection.names.map((name) =>
        one.notifications
          .getNotification({ ownerId, notificationId: encodeId({ ...name, ownerId }) })
          .then(
            ({ notification }) => asText(notification as Notification),
            (error: unknown) => toRefusal(error).reason,
          ),
      ),
    ),
    preferences: preferencesOf(preferences),
    mutedPeople: userIds,
    mutedTargets: targets.map(({ targetName }) => textOf(targetName ?? noTarget)),
    targets: await Promise.all(selection.targets.map((target) => targetOf(target, selection))),
  };
}

/** The name that is in the id, which has to agree with the fields. */
function nameOf(ownerId: string, notification: Notification): NotificationName {
  const { notificationId, target: about, kind: fieldKind, type: fieldType } = notification;
  const { target, kind, generation } = decodeId(notificationId, ownerId);
  const { type, id } = about?.targetName ?? noTarget;
  expect([type, id, fieldKind]).toEqual([target.type, target.id, plainKind(kind)]);
  expect(fieldType).toBe(isEvents(kind) ? Type.EVENT : Type.REACTION);
  return { target, kind, generation };
}

async function notificationOf(
  ownerId: string,
  notification: Notification,
): Promise<ShownNotification> {
  const { notificationId, target, actorCount, version, seen } = notification;
  const { actors } = await one.notifications.listNotificationActors({
    ownerId,
    notificationId,
    pageSize: 200,
  });
  return {
    ...nameOf(ownerId, notification),
    title: target?.title ?? "",
    version: Number(version),
    actorCount: Number(actorCount),
    eventCount: Number(notification.eventCount),
    seen,
    firstActors: notification.firstActors.map(label),
    latestActors: notification.latestActors.map(label),
    latestEvents: notification.latestEvents.map((event) =>
      eventText({ ...event, data: Buffer.from(event.data).toString() }),
    ),
    actors: actors.map(label),
    versions: [],
    times: [],
  };
}

async function targetOf(target: TargetName, { kinds, viewerId }: Selection): Promise<ShownTarget> {
  const request = { targetNames: [target], viewerId, includeLatestActors: true };
  const { summaries } = await one.reactions.batchGetReactionSummaries(request);
  const [summary] = summaries;
  const counts: ReactionSummary_Count[] = summary?.counts ?? [];
  const reactorsOf = (kind: string) =>
    one.reactions.listTargetReactions({ targetName: target, kind, pageSize: 200 }).then(
      ({ reactions }) => reactions.map(label),
      (error: unknown) => toRefusal(error).reason,
    );
  return {
    ...(await titleAndMuted(one.deps, target)),
    state: ReactionSummary_StateSchema.value[summary?.state ?? 0]?.localName ?? "",
    counts: Object.fromEntries(
      counts.map(({ kind, reactionCount }) => [kind, Number(reactionCount)]),
    ),
    own: counts.filter(({ viewerReacted }) => viewerReacted).map(({ kind }) => kind),
    recent: Object.fromEntries(
      counts.map(({ kind, latestActors }) => [kind, latestActors.map(label)]),
    ),
    reactors: Object.fromEntries(
      await Promise.all(kinds.map(async (kind) => [kind, await reactorsOf(kind)])),
    ),
    records: {},
    withdrawn: [],
  };
}
