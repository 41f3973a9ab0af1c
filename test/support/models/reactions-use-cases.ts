/** Sends the requests of the reactions models to the use cases, and reads what they show. */

import { reactionRef, targetRef } from "../../../src/feed/ports/records.ts";
import { badgeOf, type Inbox } from "../../../src/feed/rules/inbox.ts";
import type { Target } from "../../../src/feed/rules/target.ts";
import { blockPerson } from "../../../src/feed/use-cases/notifications/block-person.ts";
import {
  dismissNotification,
  markAllNotificationsRead,
  markNotificationRead,
  markNotificationsSeen,
  markNotificationUnread,
} from "../../../src/feed/use-cases/notifications/commands.ts";
import { inboxOf } from "../../../src/feed/use-cases/notifications/inbox.ts";
import {
  listMutedPeople,
  setPersonMuted,
} from "../../../src/feed/use-cases/notifications/muted-people.ts";
import { listMutedTargets } from "../../../src/feed/use-cases/notifications/muted-targets.ts";
import { notify } from "../../../src/feed/use-cases/notifications/notify.ts";
import {
  preferencesOf,
  updatePreferences,
} from "../../../src/feed/use-cases/notifications/preferences.ts";
import {
  getNotification,
  listNotificationActors,
  listNotifications,
  type Notification,
} from "../../../src/feed/use-cases/notifications/queries.ts";
import { retractEvent } from "../../../src/feed/use-cases/notifications/retract.ts";
import {
  type ReactionResult,
  react,
  unreact,
} from "../../../src/feed/use-cases/reactions/commands.ts";
import { readKindsToPurge } from "../../../src/feed/use-cases/reactions/purge-target.ts";
import {
  listTargetReactions,
  reactionSummaries,
} from "../../../src/feed/use-cases/reactions/queries.ts";
import {
  deleteTarget,
  registerTarget,
  setTargetMuted,
} from "../../../src/feed/use-cases/reactions/targets.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { allItems } from "../fixtures/pages.ts";
import {
  type Answer,
  type Badge,
  type EventRequest,
  isSame,
  type NotificationName,
  noTarget,
  type Preferences,
  plainKind,
  type Refused,
  type Request,
  type TargetName,
  textOf,
} from "./reactions-requests.ts";
import {
  eventText,
  formerText,
  label,
  recordText,
  type Selection,
  type Shown,
  type ShownNotification,
  type ShownTarget,
  shownText,
} from "./reactions-shown.ts";

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
    case "notify":
    case "retract": {
      const [answer] = await sendEvent(deps, ownersOf(ownerId, request.target), request);
      return answer as Answer;
    }
    case "read": {
      const { changed, inbox } = await markNotificationRead(deps, { ...request, ownerId });
      return { changed, badge: shownBadge(inbox) };
    }
    case "dismiss": {
      const { changed, inbox } = await dismissNotification(deps, { ...request, ownerId });
      return { changed, badge: shownBadge(inbox) };
    }
    case "unread": {
      const { changed, inbox } = await markNotificationUnread(deps, { ...request, ownerId });
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
    case "block": {
      const { changed, inbox } = await blockPerson(deps, { ...request, ownerId });
      return { changed, badge: shownBadge(inbox) };
    }
    case "prefer": {
      const preferences = await untilEtagMatches(async () => {
        const { etag } = await preferencesOf(deps, ownerId);
        return updatePreferences(deps, { ownerId, changes: request.preferences, etag });
      });
      return { preferences: shownPreferences(preferences) };
    }
    case "delete":
      return targetAnswerOf(await deleteTarget(deps, request));
    case "readKindsToPurge":
      return { kinds: (await readKindsToPurge(deps, request.target)).sort() };
  }
}

/** Sends an event, or retracts it, for several owners. A refusal counts for all. */
export async function answersTo(
  deps: Deps,
  ownerIds: readonly string[],
  request: EventRequest,
): Promise<readonly Answer[] | Refused> {
  try {
    return await sendEvent(deps, { ownerIds, ...aboutOf(request.target) }, request);
  } catch (error) {
    if (!(error instanceof DomainError) || error.retryable) throw error;
    return { refused: error.reason };
  }
}

/** Returns an answer for each owner. */
async function sendEvent(
  deps: Deps,
  owners: { readonly ownerIds?: readonly string[]; readonly target?: TargetName },
  request: EventRequest,
): Promise<Answer[]> {
  const { service, eventId } = request;
  const caller = asService(service);
  if (request.op === "retract") {
    const results = await retractEvent(deps, { ...owners, eventId, caller });
    return results.map(({ changed }) => ({ changed }));
  }
  const { userId, displayName, link, regroupAfterMs } = request;
  const results = await notify(deps, {
    ...owners,
    kind: plainKind(request.kind),
    eventId,
    actor: { userId, displayName },
    link,
    data: Buffer.from(request.data),
    regroupAfterMs,
    caller,
  });
  return results.map(({ notified, replayed, retracted }) => ({ notified, replayed, retracted }));
}

/** Who is notified of an event: the owner of its target, or one who is named. */
const ownersOf = (ownerId: string, target: TargetName) =>
  isSame(target, noTarget) ? { ownerIds: [ownerId] } : { target };

const aboutOf = (target: TargetName) => (isSame(target, noTarget) ? {} : { target });

/** Changes preferences again with another etag when a concurrent change has come first. */
async function untilEtagMatches<T>(change: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof DomainError) || error.reason !== "ETAG_MISMATCH") throw error;
    }
  }
}

const shownPreferences = ({ allMuted, mutedKinds, mutedEventKinds }: Preferences): Preferences => ({
  allMuted,
  mutedKinds,
  mutedEventKinds,
});

const changeOf = ({ changed, reactionCount }: ReactionResult) => ({ changed, reactionCount });

const shownBadge = (inbox: Inbox): Badge => ({
  version: inbox.version,
  ...badgeOf(inbox),
});

const targetAnswerOf = ({ title, muted, deleteTime }: Target) => ({
  title,
  muted,
  deleted: deleteTime !== undefined,
});

/** Everything about an owner that the use cases return. */
export async function show(deps: Deps, ownerId: string, selection: Selection): Promise<Shown> {
  // Small pages, so that lists have several.
  const list = (state: "UNREAD" | "READ" | "ALL", kinds: readonly string[] = []) =>
    allItems((page) => listNotifications(deps, { ownerId, state, kinds }, page), 3);
  const notifications = async (state: "UNREAD" | "READ") => {
    const found: ShownNotification[] = [];
    for (const each of await list(state)) found.push(await notificationOf(deps, each));
    return found;
  };
  const mutedTargets = await allItems((page) => listMutedTargets(deps, ownerId, page), 3);
  const mutedPeople = await allItems((page) => listMutedPeople(deps, ownerId, page), 3);
  const inbox = await inboxOf(deps, ownerId);
  return {
    badge: shownBadge(inbox),
    changeVersion: inbox.changeVersion,
    unread: await notifications("UNREAD"),
    read: await notifications("READ"),
    merged: (await list("ALL")).map(asText),
    filtered: (await list("ALL", selection.filter)).map(asText),
    named: await Promise.all(selection.names.map((name) => namedText(deps, ownerId, name))),
    preferences: shownPreferences(await preferencesOf(deps, ownerId)),
    mutedPeople: mutedPeople.map(({ userId }) => userId),
    mutedTargets: mutedTargets.map(textOf),
    targets: await Promise.all(selection.targets.map((each) => targetOf(deps, each, selection))),
  };
}

const asText = ({ id, version, actorCount, seen }: Notification): string =>
  shownText({ ...id, version, actorCount, seen });

/** A notification that is read by its name, or the reason of the refusal. */
const namedText = (deps: Deps, ownerId: string, name: NotificationName): Promise<string> =>
  getNotification(deps, { ...name, ownerId }).then(asText, (error: DomainError) => error.reason);

async function notificationOf(
  deps: Deps,
  { id, target, ...notification }: Notification,
): Promise<ShownNotification> {
  const { ownerId: _, ...name } = id;
  const { version, actorCount, firstMembers, latestMembers, seen } = notification;
  const { readTime, expireTime } = notification;
  const actors = await allItems((page) => listNotificationActors(deps, id, page));
  const members = [...firstMembers, ...latestMembers];
  return {
    ...name,
    title: target?.title ?? "",
    version,
    actorCount,
    eventCount: notification.eventCount,
    seen,
    firstActors: notification.firstPeople.map(label),
    latestActors: notification.latestPeople.map(label),
    latestEvents: notification.latestEvents.map((event) =>
      eventText({ ...event, data: Buffer.from(event.data).toString() }),
    ),
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
  { kinds, viewerId, userIds }: Selection,
): Promise<ShownTarget> {
  const [summary] = await reactionSummaries(deps, [target], { viewerId, latest: true });
  const { state = "", counts = [], own = [], latest = [] } = summary ?? {};
  const by = async <T>(of: (kind: string) => Promise<T>, all = kinds) =>
    Object.fromEntries(await Promise.all(all.map(async (kind) => [kind, await of(kind)])));
  return {
    state,
    ...(await titleAndMuted(deps, target)),
    counts: Object.fromEntries(counts),
    own: own.toSorted(),
    recent: Object.fromEntries([...latest].map(([kind, found]) => [kind, found.map(label)])),
    reactors: await by((kind) =>
      allItems((page) => listTargetReactions(deps, target, kind, page)).then(
        (found) => found.map(label),
        (error: DomainError) => error.reason,
      ),
    ),
    // A purge deletes some of them.
    former: state === "DELETED" ? [] : await formerReactionOf(deps, target, kinds, userIds),
    records: await by(async (kind) =>
      (await allItems((page) => deps.reader.reactions({ target, kind }, page))).map(recordText),
    ),
  };
}

/** What is kept of the reactions that these users have taken back. */
async function formerReactionOf(
  { reader, clock }: Deps,
  target: TargetName,
  kinds: readonly string[],
  userIds: readonly string[],
): Promise<string[]> {
  const { wall } = await clock.now();
  const all = kinds.flatMap((kind) => userIds.map((userId) => ({ kind, userId })));
  const found = await reader.many(all.map(({ kind, userId }) => reactionRef(target, kind, userId)));
  const texts = all.flatMap(({ kind, userId }, i) => {
    const kept = found[i];
    return kept && !("userId" in kept) ? formerText(`${kind} ${userId}`, kept, wall) : [];
  });
  return texts.sort();
}

/** The fields of a target that readers get only with notifications of it. */
export async function titleAndMuted({ reader }: Deps, target: TargetName) {
  const { title = "", muted = false } = (await reader.get(targetRef(target)))?.value ?? {};
  return { title, muted };
}
