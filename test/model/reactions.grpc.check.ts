/** Compares random histories of reactions, sent through gRPC to two servers, with the oracle. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId, encodeId } from "../../src/feed/rpc/notifications/ids.ts";
import {
  type Notification,
  Notification_Type as Type,
} from "../../src/gen/meguri/notifications/v1/notification_pb.ts";
import * as rpc from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import {
  type ReactionSummary_Count,
  ReactionSummary_StateSchema,
} from "../../src/gen/meguri/reactions/v1/reaction_pb.ts";
import { allResponses } from "../support/fixtures/pages.ts";
import { purge } from "../support/models/reactions-memory.ts";
import { play, type System } from "../support/models/reactions-model.ts";
import {
  type Answer,
  isEvents,
  type NotificationName,
  noTarget,
  plainKind,
  type Refused,
  type Request,
  type TargetName,
  textOf,
} from "../support/models/reactions-requests.ts";
import {
  answerByRpc,
  answersByRpc,
  badgeOf,
  preferencesOf,
} from "../support/models/reactions-rpc.ts";
import {
  eventText,
  label,
  type Selection,
  type Shown,
  type ShownNotification,
  type ShownTarget,
  shownText,
} from "../support/models/reactions-shown.ts";
import { ending, history } from "../support/models/reactions-templates.ts";
import { answerTo, titleAndMuted } from "../support/models/reactions-use-cases.ts";
import { toRefusal } from "../support/servers/refusal.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { playHistories } from "../support/soak.ts";

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

test("histories equal the oracle after every step", async () => {
  let histories = 0;
  const property = fc.asyncProperty(history(12, false), ending, (steps, last) => {
    histories += 1;
    return play([...steps, ...last], { system, now: Date.now(), prefix: `history-${histories}-` });
  });
  const known = [{ seed: 20_261_123, numRuns: 1 }];
  await playHistories(property, { fresh: 80, ms: 80 * 120_000, known });
});

const system: System = {
  visible: ({ unread, read, targets, ...rest }) => ({
    ...rest,
    changeVersion: 0,
    unread: unread.map(withoutTimes),
    read: read.map(withoutTimes),
    targets: targets.map((target) => ({ ...target, records: {}, former: [] })),
  }),
  send: (ownerId, request, process) => answer(process === 0 ? one : two, ownerId, request),
  sendToAll: (ownerIds, request, process) =>
    answersByRpc(process === 0 ? one : two, ownerIds, request).catch(refusedOf),
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
  // There is no RPC: an activity of a worker calls this use case.
  if (request.op === "readKindsToPurge") return answerTo(server.deps, ownerId, request);
  return answerByRpc(server, ownerId, request).catch(refusedOf);
}

/** The refusal of an error that is one. */
function refusedOf(error: unknown): Refused {
  const { reason, retries } = toRefusal(error);
  if (retries) throw error;
  return { refused: reason };
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
    former: [],
  };
}
