/** Sends the requests of the reactions models to the use cases, and reads what they show. */
import {
  markAllNotificationsRead,
  markNotificationRead,
  markNotificationsSeen,
} from "../../../src/app/notifications/commands.ts";
import { inboxOf } from "../../../src/app/notifications/inbox.ts";
import { listMutedPeople, setPersonMuted } from "../../../src/app/notifications/muted-people.ts";
import { notify } from "../../../src/app/notifications/notify.ts";
import { preferencesOf, updatePreferences } from "../../../src/app/notifications/preferences.ts";
import {
  listNotificationActors,
  listNotifications,
  type Notification,
} from "../../../src/app/notifications/queries.ts";
import type { Deps } from "../../../src/app/ports/deps.ts";
import { targetRef } from "../../../src/app/ports/records.ts";
import { type ReactionResult, react, unreact } from "../../../src/app/reactions/commands.ts";
import { readKindsToPurge } from "../../../src/app/reactions/purge-target.ts";
import { listTargetReactions, reactionSummaries } from "../../../src/app/reactions/queries.ts";
import {
  deleteTarget,
  registerTarget,
  setTargetMuted,
} from "../../../src/app/reactions/targets.ts";
import { asService } from "../../../src/domain/caller.ts";
import { DomainError } from "../../../src/domain/errors.ts";
import { badgeOf, type Inbox } from "../../../src/domain/inbox.ts";
import type { Target } from "../../../src/domain/target.ts";
import { allItems } from "../fixtures/pages.ts";
import {
  type Answer,
  type Badge,
  label,
  lineText,
  plainKind,
  type Request,
  recordText,
  type Selection,
  type Shown,
  type ShownLine,
  type ShownTarget,
  type TargetName,
} from "./reactions-requests.ts";

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
    case "react": {
      const { silent: suppressNotification, ...input } = request;
      return changeOf(await react(deps, { ...input, suppressNotification }));
    }
    case "unreact":
      return changeOf(await unreact(deps, request));
    case "notify": {
      const { service, userId, displayName } = request;
      const event = { ...request, kind: plainKind(request.kind), caller: asService(service) };
      const { notified, replayed } = await notify(deps, {
        ...event,
        actor: { userId, displayName },
      });
      return { notified, replayed };
    }
    case "read": {
      const { changed, inbox } = await markNotificationRead(deps, { ...request, ownerId });
      return { changed, badge: shownBadge(inbox) };
    }
    case "readAll": {
      const { markedCount, inbox } = await markAllNotificationsRead(deps, { ...request, ownerId });
      return { markedCount, badge: shownBadge(inbox) };
    }
    case "seen":
      return { badge: shownBadge(await markNotificationsSeen(deps, { ...request, ownerId })) };
    case "mute":
      return targetAnswerOf(await setTargetMuted(deps, { ...request, ownerId }));
    case "mutePerson":
      return { changed: await setPersonMuted(deps, { ...request, ownerId }) };
    case "prefer": {
      const changes = request.preferences;
      const { allMuted, mutedKinds } = await updatePreferences(deps, {
        ownerId,
        changes,
        etag: "",
      });
      return { preferences: { allMuted, mutedKinds } };
    }
    case "delete":
      return targetAnswerOf(await deleteTarget(deps, request));
    case "readKindsToPurge":
      return { kinds: (await readKindsToPurge(deps, request.target)).sort() };
  }
}

const changeOf = ({ changed, reactionCount }: ReactionResult) => ({ changed, reactionCount });

const shownBadge = (inbox: Inbox): Badge => ({ version: inbox.version, ...badgeOf(inbox) });

const targetAnswerOf = ({ title, muted, deleteTime }: Target) => ({
  title,
  muted,
  deleted: deleteTime !== undefined,
});

/** Everything about an owner that the use cases return. */
export async function show(deps: Deps, ownerId: string, selection: Selection): Promise<Shown> {
  // Small pages, so that lists have several.
  const list = (state: "UNREAD" | "READ" | "ALL") =>
    allItems((page) => listNotifications(deps, ownerId, state, page), 3);
  const lines = async (state: "UNREAD" | "READ") => {
    const found: ShownLine[] = [];
    for (const each of await list(state)) found.push(await lineOf(deps, each));
    return found;
  };
  const { allMuted, mutedKinds } = await preferencesOf(deps, ownerId);
  const mutedPeople = await allItems((page) => listMutedPeople(deps, ownerId, page), 3);
  return {
    badge: shownBadge(await inboxOf(deps, ownerId)),
    unread: await lines("UNREAD"),
    read: await lines("READ"),
    merged: (await list("ALL")).map(({ id: { kind }, target: { type, id }, version, seen }) =>
      lineText({ target: { type, id, title: "" }, kind, version, seen }),
    ),
    preferences: { allMuted, mutedKinds },
    mutedPeople: mutedPeople.map(({ userId }) => userId),
    targets: await Promise.all(selection.targets.map((each) => targetOf(deps, each, selection))),
  };
}

async function lineOf(
  deps: Deps,
  { id: notificationId, target: { type, id, title }, ...notification }: Notification,
): Promise<ShownLine> {
  const { version, actorCount, firstMembers, latestMembers, seen } = notification;
  const { readTime, expireTime } = notification;
  const actors = await allItems((page) => listNotificationActors(deps, notificationId, page));
  const members = [...firstMembers, ...latestMembers];
  return {
    target: { type, id, title },
    kind: notificationId.kind,
    version,
    actorCount,
    seen,
    firstActors: firstMembers.map(label),
    latestActors: latestMembers.map(label),
    actors: actors.map(label),
    versions: members.map((member) => member.version),
    times: [
      ...members.map(({ createTime }) => createTime),
      ...[readTime, expireTime].filter((time) => time !== undefined),
    ],
  };
}

async function targetOf(
  deps: Deps,
  target: TargetName,
  { kinds, eventKinds, viewerId }: Selection,
): Promise<ShownTarget> {
  const [summary] = await reactionSummaries(deps, [target], { viewerId, latest: true });
  const { state = "", counts = {}, own = [], latest = {} } = summary ?? {};
  const by = async <T>(of: (kind: string) => Promise<T>, all = kinds) =>
    Object.fromEntries(await Promise.all(all.map(async (kind) => [kind, await of(kind)])));
  return {
    state,
    ...(await titleAndMuted(deps, target)),
    counts,
    own: own.toSorted(),
    recent: Object.fromEntries(
      Object.entries(latest).map(([kind, found]) => [kind, found.map(label)]),
    ),
    reactors: await by((kind) =>
      allItems((page) => listTargetReactions(deps, target, kind, page)).then(
        (found) => found.map(label),
        (error: DomainError) => error.reason,
      ),
    ),
    records: await by(
      async (kind) =>
        (await allItems((page) => deps.reader.reactions({ target, kind }, page))).map(recordText),
      [...kinds, ...eventKinds],
    ),
  };
}

/** The fields of a target that readers get only with notifications of it. */
export async function titleAndMuted({ reader }: Deps, target: TargetName) {
  const { title = "", muted = false } = (await reader.get(targetRef(target)))?.value ?? {};
  return { title, muted };
}
