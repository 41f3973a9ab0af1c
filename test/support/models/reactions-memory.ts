/** The use cases as the service of a life: on any store, and on the one in memory. */
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
import type { Page, PageRequest } from "../../../src/app/ports/pages.ts";
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
import { pause } from "../stores/item-by-item.ts";
import { type Fault, memoryDeps } from "../stores/memory-store.ts";
import { keptMs, life, play, type Service, type Turns, turnsOf } from "./reactions-model.ts";
import {
  type Answer,
  label,
  type Name,
  type Request,
  type Shown,
  type ShownGroup,
  type ShownTarget,
  type Sight,
} from "./reactions-oracle.ts";
import { inVirtualTime } from "./virtual-time.ts";

/**
 * The use cases on the store in memory, as two processes. With `delays` transactions are applied
 * item by item, each kind of record after so many ms; without, as a whole.
 */
export function openMemory(
  now: number,
  { turn, race }: Turns,
  delays: Partial<Record<Kind, number>> | undefined,
): Service {
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
    ask: (ownerId, request, which) => ask(processes[which] as Deps, ownerId, request),
    show: (ownerId, sight) => show(deps, ownerId, sight),
    async reactionsOf(userId) {
      const found = await all((page) => listUserReactions(deps, userId, page));
      return found.map(({ target: { type, id }, kind }) => `${type}/${id} ${kind}`);
    },
    remove: (ownerId, target) => remove(deps, ownerId, target),
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

/** In ms: mostly less than a call takes. */
const delay = fc.oneof({ weight: 4, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(40) });

/** Lives on the store in memory, in both isolations. */
export const lives = fc.asyncProperty(
  life(40),
  fc.scheduler(),
  fc.option(fc.record({ target: delay, inbox: delay, group: delay, reaction: delay }), {
    nil: undefined,
  }),
  (steps, scheduler, delays) =>
    inVirtualTime(() => {
      const now = Date.UTC(2026, 0, 15);
      const service = openMemory(now, turnsOf(scheduler), delays);
      return play(steps, { service, now, prefix: "" });
    }),
);

/** What use cases read in the course of a change may change places, too. */
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

/** Sends a request; what passes by itself is no answer. */
export async function ask(deps: Deps, ownerId: string, request: Request): Promise<Answer> {
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
      return placeOf(await registerTarget(deps, { ...request, ownerId, link: "" }));
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
      return placeOf(await setTargetMuted(deps, { ...request, ownerId }));
    case "delete":
      return placeOf(await deleteTarget(deps, request));
    case "removeUnread":
      return { kinds: (await purgeUnread(deps, request.target)).sort() };
  }
}

const changeOf = ({ changed, reactionCount }: ReactionResult) => ({ changed, reactionCount });

const placeOf = ({ title, muted, deleted }: Awaited<ReturnType<typeof registerTarget>>) => ({
  title,
  muted,
  deleted,
});

/** All that the removal of a target does. */
export async function remove(deps: Deps, ownerId: string, target: Name): Promise<void> {
  const kinds = await purgeUnread(deps, target);
  for (const kind of kinds) while (await purgeReactions(deps, target, kind));
  const summaries = await reactionSummaries(deps, [target], undefined);
  if (summaries[0]?.state !== "DELETED") return;
  let cursor: string | undefined;
  do cursor = await purgeHistory(deps, ownerId, target, cursor);
  while (cursor !== undefined);
}

/** Everything about an owner, as the use cases tell it. */
export async function show(deps: Deps, ownerId: string, sight: Sight): Promise<Shown> {
  const list = async (state: "UNREAD" | "READ") => {
    // So that lives come to a second page, too.
    const found = await all((page) => listNotifications(deps, ownerId, state, page), 3);
    const groups: ShownGroup[] = [];
    for (const each of found) groups.push(await groupOf(deps, ownerId, each));
    return groups;
  };
  const { version, groupCount, peopleCount } = await inboxOf(deps, ownerId);
  return {
    badge: { version, groupCount, peopleCount },
    unread: await list("UNREAD"),
    read: await list("READ"),
    targets: await Promise.all(sight.targets.map((each) => targetOf(deps, ownerId, each, sight))),
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
  const actors = await all((page) =>
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
  target: Name,
  { kinds, viewerId }: Sight,
): Promise<ShownTarget> {
  const [summary] = await reactionSummaries(deps, [target], viewerId);
  const { state = "", counts = {}, own = [] } = summary ?? {};
  const byKind = async <T>(of: (kind: string) => Promise<T>) =>
    Object.fromEntries(await Promise.all(kinds.map(async (kind) => [kind, await of(kind)])));
  const everything = { from: 1, to: 1e9 };
  return {
    state,
    ...(await knownOf(deps, target)),
    counts,
    own: own.toSorted(),
    reactors: await byKind((kind) =>
      orReason(all((page) => listReactors(deps, target, kind, page))),
    ),
    notified: await byKind((kind) =>
      orReason(
        all((page) => listNotificationActors(deps, { ownerId, target, kind }, everything, page)),
      ),
    ),
    numbers: await byKind(async (kind) =>
      (await all((page) => deps.reader.reactions({ target, kind }, page))).map(
        ({ version }) => version,
      ),
    ),
  };
}

/** What the store has of a target that no reader is told but in notifications of it. */
export async function knownOf({ reader }: Deps, target: Name) {
  const { title = "", muted = false } = (await reader.get(targetRef(target)))?.value ?? {};
  return { title, muted };
}

const orReason = (people: Promise<readonly { userId: string; actorName: string }[]>) =>
  people.then(
    (found) => found.map(label),
    (error: DomainError) => error.reason,
  );

/** A list from its first page to its last. */
export async function all<T>(list: (page: PageRequest) => Promise<Page<T>>, size = 50) {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page: Page<T> = await list({ size, cursor });
    items.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return items;
}
