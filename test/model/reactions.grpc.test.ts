/** Random lives through gRPC on DynamoDB, by two servers, equal to the oracle. */
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
import { ask as askUseCases, knownOf, remove } from "../support/models/reactions-memory.ts";
import { life, play, type Service } from "../support/models/reactions-model.ts";
import type {
  Answer,
  Badge,
  Name,
  Request,
  Shown,
  ShownGroup,
  ShownTarget,
  Sight,
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
  `${runs} lives are as the oracle says, after every step`,
  async () => {
    let lives = 0;
    const property = fc.asyncProperty(life(12), (steps) => {
      lives += 1;
      return play(steps, { service, now: Date.now(), prefix: `life-${lives}-` });
    });
    await assertSeeded(property, runs, 10_000 * runs);
  },
  11_000 * runs,
);

const service: Service = {
  visible: ({ badge, unread, read, targets }) => ({
    badge,
    unread: unread.map(withoutTimes),
    read: read.map(withoutTimes),
    targets: targets.map((target) => ({ ...target, numbers: {} })),
  }),
  ask: (ownerId, request, process) => ask(process === 0 ? one : two, ownerId, request),
  show,
  async reactionsOf(userId) {
    const { reactions } = await two.reactions.listUserReactions({ userId, pageSize: 200 });
    return reactions.map(({ target, kind }) => `${target?.type}/${target?.id} ${kind}`);
  },
  remove: (ownerId, target) => remove(two.deps, ownerId, target),
  wait: () => 0,
  faults: () => undefined,
  race: (work) => work(),
};

const withoutTimes = (group: ShownGroup): ShownGroup => ({ ...group, times: [] });

async function ask(server: TestServer, ownerId: string, request: Request): Promise<Answer> {
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
      return placeOf((await reactions.registerTarget({ ...request, ownerId })).target);
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
      return placeOf((await notifications.setTargetMuted({ ...request, ownerId })).target);
    case "delete":
      return placeOf((await reactions.deleteTarget(request)).target);
    case "removeUnread":
      // What an activity does, in a worker.
      return askUseCases(deps, ownerId, request);
  }
}

const badgeOf = (count: UnreadCount | undefined): Badge => ({
  version: Number(count?.version),
  groupCount: Number(count?.groupCount),
  peopleCount: Number(count?.peopleCount),
});

function placeOf(target: Target | undefined): Answer {
  const { title = "", muted = false, deleted = false } = target ?? {};
  return { title, muted, deleted };
}

async function show(ownerId: string, sight: Sight): Promise<Shown> {
  const list = async (state: rpc.ListNotificationsRequest_State) => {
    // So that lives come to a second page, too.
    const found = await pages(async (pageToken) => {
      const request = { ownerId, state, pageSize: 4, pageToken };
      const page = await two.notifications.listNotifications(request);
      return { items: page.notifications, next: page.nextPageToken };
    });
    return Promise.all(found.map((each) => groupOf(ownerId, each)));
  };
  const { unreadCount } = await one.notifications.getUnreadCount({ ownerId });
  return {
    badge: badgeOf(unreadCount),
    unread: await list(State.UNREAD),
    read: await list(State.READ),
    targets: await Promise.all(sight.targets.map((target) => targetOf(ownerId, target, sight))),
  };
}

async function pages<T>(
  ask: (pageToken: string) => Promise<{ items: readonly T[]; next: string }>,
): Promise<T[]> {
  const all: T[] = [];
  let pageToken = "";
  do {
    const { items, next } = await ask(pageToken);
    all.push(...items);
    pageToken = next;
  } while (pageToken !== "");
  return all;
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
  target: Name,
  { kinds, viewerId }: Sight,
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
    ...(await knownOf(one.deps, target)),
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
    numbers: {},
  };
}
