/** Compares random histories of reactions, sent through gRPC to two servers, with the oracle. */
import fc from "fast-check";
import { afterAll, beforeAll, inject, test } from "vitest";
import type {
  Notification,
  UnreadCount,
} from "../../src/gen/meguri/notifications/v1/notification_pb.ts";
import * as rpc from "../../src/gen/meguri/notifications/v1/notification_service_pb.ts";
import {
  type ReactionSummary_Count,
  ReactionSummary_StateSchema,
} from "../../src/gen/meguri/reactions/v1/reaction_pb.ts";
import type { Target } from "../../src/gen/meguri/reactions/v1/target_pb.ts";
import { allResponses } from "../support/fixtures/pages.ts";
import { answerTo, purge, titleAndMuted } from "../support/models/reactions-memory.ts";
import { history, play, type System } from "../support/models/reactions-model.ts";
import type {
  Answer,
  Badge,
  Request,
  Selection,
  Shown,
  ShownGroup,
  ShownTarget,
  TargetName,
} from "../support/models/reactions-oracle.ts";
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

const runs = inject("grpcRuns");

test(
  `${runs} histories equal the oracle after every step`,
  async () => {
    let histories = 0;
    const property = fc.asyncProperty(history(12), (steps) => {
      histories += 1;
      return play(steps, { system, now: Date.now(), prefix: `history-${histories}-` });
    });
    await assertSeeded(property, runs, 10_000 * runs);
  },
  11_000 * runs,
);

const system: System = {
  visible: ({ badge, unread, read, targets }) => ({
    badge,
    unread: unread.map(withoutTimes),
    read: read.map(withoutTimes),
    targets: targets.map((target) => ({ ...target, versions: {} })),
  }),
  send: (ownerId, request, process) => answer(process === 0 ? one : two, ownerId, request),
  show,
  async reactionsOf(userId) {
    const { reactions } = await two.reactions.listUserReactions({ userId, pageSize: 200 });
    return reactions.map(({ target, kind }) => `${target?.type}/${target?.id} ${kind}`);
  },
  purge: (ownerId, target) => purge(two.deps, ownerId, target),
  wait: () => 0,
  faults: () => undefined,
  race: (work) => work(),
};

const withoutTimes = (group: ShownGroup): ShownGroup => ({ ...group, times: [] });

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
      return targetAnswerOf((await reactions.registerTarget({ ...request, ownerId })).target);
    case "react": {
      const { userId, actorName } = request;
      const { changed, reactionCount } = await reactions.react({ ...request, userId, actorName });
      return { changed, reactionCount: Number(reactionCount) };
    }
    case "unreact": {
      const { changed, reactionCount } = await reactions.unreact({
        ...request,
        userId: request.userId,
      });
      return { changed, reactionCount: Number(reactionCount) };
    }
    case "read": {
      const version = BigInt(request.version);
      const mark = await notifications.markNotificationRead({ ...request, ownerId, version });
      return { changed: mark.changed, badge: badgeOf(mark.unreadCount) };
    }
    case "readAll": {
      const version = BigInt(request.version);
      const mark = await notifications.markAllNotificationsRead({ ownerId, version });
      return { markedCount: Number(mark.markedCount), badge: badgeOf(mark.unreadCount) };
    }
    case "mute":
      return targetAnswerOf((await notifications.setTargetMuted({ ...request, ownerId })).target);
    case "delete":
      return targetAnswerOf((await reactions.deleteTarget(request)).target);
    case "purgeUnread":
      // There is no RPC: an activity of a worker calls this use case.
      return answerTo(deps, ownerId, request);
  }
}

const badgeOf = (count: UnreadCount | undefined): Badge => ({
  version: Number(count?.version),
  groupCount: Number(count?.groupCount),
  peopleCount: Number(count?.peopleCount),
});

function targetAnswerOf(target: Target | undefined): Answer {
  const { title = "", muted = false, deleted = false } = target ?? {};
  return { title, muted, deleted };
}

async function show(ownerId: string, selection: Selection): Promise<Shown> {
  const list = async (state: rpc.ListNotificationsRequest_State) => {
    // Small pages, so that lists have several.
    const pages = await allResponses((pageToken) =>
      two.notifications.listNotifications({ ownerId, state, pageSize: 4, pageToken }),
    );
    const found = pages.flatMap(({ notifications }) => notifications);
    return Promise.all(found.map((each) => groupOf(ownerId, each)));
  };
  const { unreadCount } = await one.notifications.getUnreadCount({ ownerId });
  return {
    badge: badgeOf(unreadCount),
    unread: await list(State.UNREAD),
    read: await list(State.READ),
    targets: await Promise.all(
      selection.targets.map((target) => targetOf(ownerId, target, selection)),
    ),
  };
}

async function groupOf(ownerId: string, notification: Notification): Promise<ShownGroup> {
  const { target, kind, peopleCount, text, firstVersion, version } = notification;
  const { type = "", id = "" } = target?.name ?? {};
  const range = { ownerId, target: { type, id }, kind, firstVersion, version, pageSize: 200 };
  const { actors } = await one.notifications.listNotificationActors(range);
  return {
    target: { type, id, title: target?.title ?? "", deleted: target?.deleted ?? false },
    kind,
    firstVersion: Number(firstVersion),
    version: Number(version),
    peopleCount: Number(peopleCount),
    names: text?.names ?? [],
    otherCount: Number(text?.otherCount),
    firstActors: notification.firstActors.map(label),
    latestActors: notification.latestActors.map(label),
    actors: actors.map(label),
    times: [],
  };
}

const label = ({ userId, actorName }: { userId: string; actorName: string }) =>
  `${userId} ${actorName}`;

async function targetOf(
  ownerId: string,
  target: TargetName,
  { kinds, viewerId }: Selection,
): Promise<ShownTarget> {
  const request = { targets: [target], viewerId };
  const { summaries } = await one.reactions.batchGetReactionSummaries(request);
  const [summary] = summaries;
  const counts: ReactionSummary_Count[] = summary?.counts ?? [];
  const byKind = async (
    of: (kind: string) => Promise<readonly { userId: string; actorName: string }[]>,
  ) =>
    Object.fromEntries(
      await Promise.all(
        kinds.map(async (kind) => {
          const people = of(kind).then(
            (found) => found.map(label),
            (error: unknown) => toRefusal(error).reason,
          );
          return [kind, await people];
        }),
      ),
    );
  const everything = { firstVersion: 1n, version: 1_000_000n, pageSize: 200 };
  return {
    ...(await titleAndMuted(one.deps, target)),
    state: ReactionSummary_StateSchema.value[summary?.state ?? 0]?.localName ?? "",
    counts: Object.fromEntries(
      counts.map(({ kind, reactionCount }) => [kind, Number(reactionCount)]),
    ),
    own: counts.filter(({ viewerReacted }) => viewerReacted).map(({ kind }) => kind),
    reactors: await byKind(
      async (kind) => (await one.reactions.listReactors({ target, kind, pageSize: 200 })).reactions,
    ),
    notified: await byKind(
      async (kind) =>
        (await two.notifications.listNotificationActors({ ownerId, target, kind, ...everything }))
          .actors,
    ),
    versions: {},
  };
}
