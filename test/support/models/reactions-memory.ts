/** The use cases of reactions as the system of a history, on any store and on the one in memory. */
import fc from "fast-check";
import {
  inboxOf,
  markAllNotificationsRead,
  markNotificationRead,
} from "../../../src/app/notifications/commands.ts";
import {
  listNotificationActors,
  listNotifications,
  type Notification,
} from "../../../src/app/notifications/queries.ts";
import type { Deps, Reader } from "../../../src/app/ports/deps.ts";

import { type Kind, targetRef } from "../../../src/app/ports/records.ts";
import { type ReactionResult, react, unreact } from "../../../src/app/reactions/commands.ts";
import {
  purgeHistory,
  purgeReactions,
  purgeUnread,
} from "../../../src/app/reactions/purge-target.ts";
import {
  listReactors,
  listUserReactions,
  reactionSummaries,
} from "../../../src/app/reactions/queries.ts";
import {
  deleteTarget,
  registerTarget,
  setTargetMuted,
} from "../../../src/app/reactions/targets.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { allItems } from "../fixtures/pages.ts";
import { pause } from "../stores/item-by-item.ts";
import { type Fault, memoryDeps } from "../stores/memory-store.ts";
import { history, keptMs, play, type System, type Turns, turnsOf } from "./reactions-model.ts";
import {
  type Answer,
  label,
  type Request,
  type Selection,
  type Shown,
  type ShownGroup,
  type ShownTarget,
  type TargetName,
} from "./reactions-oracle.ts";
import { inVirtualTime } from "./virtual-time.ts";

/**
 * Two processes with the use cases on the store in memory. With `delays` transactions are applied
 * item by item, each kind of record after so many ms; without them at one moment.
 */
export function openMemory(
  now: number,
  { turn, race }: Turns,
  delays: Partial<Record<Kind, number>> | undefined,
): System {
  const { deps, store, clock, process: another } = memoryDeps({ time: now, random: () => 0 });
  const processes = [deps, another()].map((each) => ({
    ...each,
    historyMs: keptMs,
    reader: inTurns(each.reader, turn),
  }));
  let plan: Fault[] = [];
  store.arriving = async ({ op }) => {
    await turn();
    return op === "commit" ? plan.shift() : undefined;
  };
  store.answering = turn;
  store.latencyMs = 1;
  if (delays) {
    store.beforeItem = async (_, { kind }) => {
      await pause(delays[kind] ?? 0);
      await turn();
    };
  }
  return {
    visible: (shown) => shown,
    send: (ownerId, request, which) => answerTo(processes[which] as Deps, ownerId, request),
    show: (ownerId, selection) => show(deps, ownerId, selection),
    async reactionsOf(userId) {
      const found = await allItems((page) => listUserReactions(deps, userId, page));
      return found.map(({ target: { type, id }, kind }) => `${type}/${id} ${kind}`);
    },
    purge: (ownerId, target) => purge(deps, ownerId, target),
    wait(ms) {
      clock.time += ms;
      return ms;
    },
    faults(faults) {
      plan = [...faults];
    },
    race,
  };
}

/** In ms: mostly shorter than a call. */
const delay = fc.oneof({ weight: 4, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(40) });

/** Histories on the store in memory, in both isolations. */
export const histories = fc.asyncProperty(
  history(40),
  fc.scheduler(),
  fc.option(fc.record({ target: delay, inbox: delay, group: delay, reaction: delay }), {
    nil: undefined,
  }),
  (steps, scheduler, delays) =>
    inVirtualTime(() => {
      const now = Date.UTC(2026, 0, 15);
      const system = openMemory(now, turnsOf(scheduler), delays);
      return play(steps, { system, now, prefix: "" });
    }),
);

/** A reader whose reads take part in the scheduler's order, as the requests of the engine do. */
const inTurns = (reader: Reader, turn: () => Promise<void>): Reader => ({
  ...reader,
  async get(ref) {
    await turn();
    return reader.get(ref);
  },
  async unreadGroups(ownerId, newestFirst, page) {
    await turn();
    return reader.unreadGroups(ownerId, newestFirst, page);
  },
});

/** Calls the use case of a request. Throws a retryable error, which is not an answer. */
export async function answerTo(deps: Deps, ownerId: string, request: Request): Promise<Answer> {
  try {
    return await send(deps, ownerId, request);
  } catch (error) {
    if (!(error instanceof DomainError) || error.retryable) throw error;
    return { refused: error.reason };
  }
}

async function send(deps: Deps, ownerId: string, request: Request): Promise<Answer> {
  switch (request.op) {
    case "register":
      return targetAnswerOf(await registerTarget(deps, { ...request, ownerId, link: "" }));
    case "react":
      return changeOf(await react(deps, request));
    case "unreact":
      return changeOf(await unreact(deps, request));
    case "read": {
      const { changed, inbox } = await markNotificationRead(deps, { ...request, ownerId });
      return { changed, badge: inbox };
    }
    case "readAll": {
      const { markedCount, inbox } = await markAllNotificationsRead(deps, { ...request, ownerId });
      return { markedCount, badge: inbox };
    }
    case "mute":
      return targetAnswerOf(await setTargetMuted(deps, { ...request, ownerId }));
    case "delete":
      return targetAnswerOf(await deleteTarget(deps, request));
    case "purgeUnread":
      return { kinds: (await purgeUnread(deps, request.target)).sort() };
  }
}

const changeOf = ({ changed, reactionCount }: ReactionResult) => ({ changed, reactionCount });

const targetAnswerOf = ({ title, muted, deleted }: Awaited<ReturnType<typeof registerTarget>>) => ({
  title,
  muted,
  deleted,
});

/** All steps of a purge. */
export async function purge(deps: Deps, ownerId: string, target: TargetName): Promise<void> {
  const kinds = await purgeUnread(deps, target);
  for (const kind of kinds) while (await purgeReactions(deps, target, kind));
  const summaries = await reactionSummaries(deps, [target], undefined);
  if (summaries[0]?.state !== "DELETED") return;
  let cursor: string | undefined;
  do cursor = await purgeHistory(deps, ownerId, target, cursor);
  while (cursor !== undefined);
}

/** Everything about an owner that the use cases return. */
export async function show(deps: Deps, ownerId: string, selection: Selection): Promise<Shown> {
  const list = async (state: "UNREAD" | "READ") => {
    // Small pages, so that lists have several.
    const found = await allItems((page) => listNotifications(deps, ownerId, state, page), 3);
    const groups: ShownGroup[] = [];
    for (const each of found) groups.push(await groupOf(deps, ownerId, each));
    return groups;
  };
  const { version, groupCount, peopleCount } = await inboxOf(deps, ownerId);
  return {
    badge: { version, groupCount, peopleCount },
    unread: await list("UNREAD"),
    read: await list("READ"),
    targets: await Promise.all(
      selection.targets.map((each) => targetOf(deps, ownerId, each, selection)),
    ),
  };
}

async function groupOf(
  deps: Deps,
  ownerId: string,
  { group, target, text }: Notification,
): Promise<ShownGroup> {
  const {
    kind,
    firstVersion,
    version,
    peopleCount,
    firstActors,
    latestActors,
    createTime,
    updateTime,
  } = group;
  const { type, id, title, deleted } = target;
  const range = { from: firstVersion, to: version };
  const actors = await allItems((page) =>
    listNotificationActors(deps, { ownerId, target, kind }, range, page),
  );
  return {
    target: { type, id, title, deleted },
    kind,
    firstVersion,
    version,
    peopleCount,
    ...text,
    firstActors: firstActors.map(label),
    latestActors: latestActors.map(label),
    actors: actors.map(label),
    times: [
      createTime,
      updateTime,
      ...("readTime" in group ? [group.readTime, group.expireTime] : []),
    ],
  };
}

async function targetOf(
  deps: Deps,
  ownerId: string,
  target: TargetName,
  { kinds, viewerId }: Selection,
): Promise<ShownTarget> {
  const [summary] = await reactionSummaries(deps, [target], viewerId);
  const { state = "", counts = {}, own = [] } = summary ?? {};
  const byKind = async <T>(of: (kind: string) => Promise<T>) =>
    Object.fromEntries(await Promise.all(kinds.map(async (kind) => [kind, await of(kind)])));
  const everything = { from: 1, to: 1e9 };
  return {
    state,
    ...(await titleAndMuted(deps, target)),
    counts,
    own: own.toSorted(),
    reactors: await byKind((kind) =>
      orReason(allItems((page) => listReactors(deps, target, kind, page))),
    ),
    notified: await byKind((kind) =>
      orReason(
        allItems((page) =>
          listNotificationActors(deps, { ownerId, target, kind }, everything, page),
        ),
      ),
    ),
    versions: await byKind(async (kind) =>
      (await allItems((page) => deps.reader.reactions({ target, kind }, page))).map(
        ({ version }) => version,
      ),
    ),
  };
}

/** The fields of a target that readers get only with notifications of it. */
export async function titleAndMuted({ reader }: Deps, target: TargetName) {
  const { title = "", muted = false } = (await reader.get(targetRef(target)))?.value ?? {};
  return { title, muted };
}

const orReason = (people: Promise<readonly { userId: string; actorName: string }[]>) =>
  people.then(
    (found) => found.map(label),
    (error: DomainError) => error.reason,
  );
