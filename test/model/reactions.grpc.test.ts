/** Compares random histories of reactions, sent through gRPC to two servers, with the oracle. */
import fc from "fast-check";
import { afterAll, beforeAll, inject, test } from "vitest";
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
import { encodeId } from "../../src/rpc/notifications/ids.ts";
import { allResponses } from "../support/fixtures/pages.ts";
import { purge } from "../support/models/reactions-memory.ts";
import { coolDownMs, play, type System } from "../support/models/reactions-model.ts";
import {
  type Answer,
  type Badge,
  eventsOf,
  label,
  lineText,
  plainKind,
  type Request,
  type Selection,
  type Shown,
  type ShownLine,
  type ShownTarget,
  type TargetName,
  textOf,
} from "../support/models/reactions-requests.ts";
import { history } from "../support/models/reactions-templates.ts";
import { answerTo, titleAndMuted } from "../support/models/reactions-use-cases.ts";
import { assertSeeded } from "../support/models/seeded.ts";
import { toRefusal } from "../support/servers/refusal.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";

const State = rpc.ListNotificationsRequest_State;

let one: TestServer;
let two: TestServer;

beforeAll(async () => {
  const env = { MEGURI_COOL_DOWN_HOURS: String(coolDownMs / 3_600_000) };
  one = await startServer({ testClock: false, env });
  two = await startServer({ testClock: false, env, tablePrefix: one.config.tablePrefix });
});

afterAll(async () => {
  await two.stop();
  await one.stop();
});

const { count, seed } = inject("grpcHistories");

test(`${count} histories equal the oracle after every step`, async () => {
  let histories = 0;
  const property = fc.asyncProperty(history(12), (steps) => {
    histories += 1;
    return play(steps, { system, now: Date.now(), prefix: `history-${histories}-` });
  });
  await assertSeeded(property, count, 60_000 * count, seed);
});

const system: System = {
  visible: ({ unread, read, targets, ...rest }) => ({
    ...rest,
    unread: unread.map(withoutTimes),
    read: read.map(withoutTimes),
    targets: targets.map((target) => ({ ...target, records: {} })),
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

const withoutTimes = (line: ShownLine): ShownLine => ({ ...line, versions: [], times: [] });

/** The names of unread notifications, as lists have shown them. */
const listedIds = new Map<string, string>();

/** The id of an unread line, which no list may have shown yet. */
function idOf(ownerId: string, target: TargetName, kind: string): string {
  const listed = listedIds.get(`${ownerId} ${textOf(target)} ${kind}`);
  return listed ?? encodeId({ ownerId, target, kind });
}

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
      const { changed, reactionCount } = await reactions.react({
        ...plain,
        targetName,
        suppressNotification,
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
      const { service, target: targetName, kind, ...others } = request;
      const event = { ...others, targetName, kind: plainKind(kind) };
      const { notified, replayed } = await server.clientsOf(service).notifications.notify(event);
      return { notified, replayed };
    }
    case "read": {
      const { target, kind, version } = request;
      const mark = await notifications.markNotificationRead({
        ownerId,
        notificationId: idOf(ownerId, target, kind),
        version: BigInt(version),
      });
      return { changed: mark.changed, badge: badgeOf(mark.unreadCount) };
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
    case "prefer": {
      const { allMuted, mutedKinds } = request.preferences;
      const preferences = { ownerId, allMuted, mutedKinds: [...mutedKinds] };
      const updateMask = { paths: ["*"] };
      const updated = await notifications.updatePreferences({ preferences, updateMask });
      return { preferences: preferencesOf(updated.preferences) };
    }
    case "delete":
      return targetAnswerOf((await reactions.deleteTarget({ targetName: request.target })).target);
    case "readKindsToPurge":
      // There is no RPC: an activity of a worker calls this use case.
      return answerTo(deps, ownerId, request);
  }
}

const badgeOf = (count: UnreadCount | undefined): Badge => ({
  version: Number(count?.version),
  notificationCount: Number(count?.notificationCount),
  actorCount: Number(count?.actorCount),
  unseenNotificationCount: Number(count?.unseenNotificationCount),
});

const preferencesOf = (preferences: Preferences | undefined) => ({
  allMuted: preferences?.allMuted ?? false,
  mutedKinds: preferences?.mutedKinds ?? [],
});

function targetAnswerOf(target: Target | undefined): Answer {
  const { title = "", muted = false, deleteTime } = target ?? {};
  return { title, muted, deleted: deleteTime !== undefined };
}

async function show(ownerId: string, selection: Selection): Promise<Shown> {
  const list = async (state: rpc.ListNotificationsRequest_State) => {
    // Small pages, so that lists have several.
    const pages = await allResponses((pageToken) =>
      two.notifications.listNotifications({ ownerId, state, pageSize: 4, pageToken }),
    );
    return pages.flatMap(({ notifications }) => notifications);
  };
  const lines = async (state: rpc.ListNotificationsRequest_State) => {
    const found = await list(state);
    for (const { notificationId, ...line } of state === State.UNREAD ? found : []) {
      listedIds.set(`${ownerId} ${textOf(targetNameOf(line))} ${kindOf(line)}`, notificationId);
    }
    return Promise.all(found.map((each) => lineOf(ownerId, each)));
  };
  const { unreadCount } = await one.notifications.getUnreadCount({ ownerId });
  const { preferences } = await one.notifications.getPreferences({ ownerId });
  const { userIds } = await two.notifications.listMutedPeople({ ownerId, pageSize: 200 });
  return {
    badge: badgeOf(unreadCount),
    unread: await lines(State.UNREAD),
    read: await lines(State.READ),
    merged: (await list(State.UNSPECIFIED)).map((each) =>
      lineText({
        target: { ...targetNameOf(each), title: "" },
        kind: kindOf(each),
        version: Number(each.version),
        seen: each.seen,
      }),
    ),
    preferences: preferencesOf(preferences),
    mutedPeople: userIds,
    targets: await Promise.all(selection.targets.map((target) => targetOf(target, selection))),
  };
}

type Line = Pick<Notification, "target" | "kind" | "type">;

function targetNameOf({ target }: Line): TargetName {
  const { type = "", id = "" } = target?.targetName ?? {};
  return { type, id };
}

const kindOf = ({ kind, type }: Line) => (type === Type.EVENT ? eventsOf(kind) : kind);

async function lineOf(ownerId: string, notification: Notification): Promise<ShownLine> {
  const { notificationId, target, actorCount, version, seen } = notification;
  const { actors } = await one.notifications.listNotificationActors({
    ownerId,
    notificationId,
    pageSize: 200,
  });
  return {
    target: { ...targetNameOf(notification), title: target?.title ?? "" },
    kind: kindOf(notification),
    version: Number(version),
    actorCount: Number(actorCount),
    seen,
    firstActors: notification.firstActors.map(label),
    latestActors: notification.latestActors.map(label),
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
  };
}
