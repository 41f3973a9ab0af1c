/** The use cases that list notifications and their actors. */

import type { Page, PageRequest } from "../../../platform/ports/pages.ts";
import { DomainError } from "../../../platform/words/errors.ts";
import type { Instant } from "../../../platform/words/month.ts";
import type { Deps } from "../../ports/deps.ts";
import type { MemberRecord } from "../../ports/notifications.ts";
import { notificationEventRef } from "../../ports/records.ts";
import type { Event } from "../../rules/event.ts";
import { emptyInbox } from "../../rules/inbox.ts";
import { isEventKind, kindName } from "../../rules/kinds.ts";
import { shownPeople } from "../../rules/notification.ts";
import type { Target } from "../../rules/target.ts";
import { type Member, versionOf } from "../../rules/unread-group.ts";
import { type GroupFilter, type ListedGroup, listGroups, withTargets } from "./group-pages.ts";
import { inboxOf } from "./inbox.ts";
import { findGroup, type GroupName } from "./named-groups.ts";

/** A group as it is listed, with its target. */
export interface Notification {
  readonly id: GroupName;
  /** Undefined for events that are about none. */
  readonly target: Target | undefined;
  /** The kind of its reactions or events, as callers know it. */
  readonly kind: string;
  readonly type: "REACTION" | "EVENT";
  readonly actorCount: number;
  readonly firstMembers: readonly Member[];
  readonly latestMembers: readonly Member[];
  /** The earliest and the latest people, as far as the group shows them. */
  readonly firstPeople: readonly Member[];
  readonly latestPeople: readonly Member[];
  /** The number of events; 0 for reactions. */
  readonly eventCount: number;
  /** The latest events, latest first. */
  readonly latestEvents: readonly Event[];
  /** The version of the latest member. */
  readonly version: number;
  /** Whether the owner has seen it. A read one counts as seen. */
  readonly seen: boolean;
  readonly readTime?: Instant | undefined;
  readonly expireTime?: Instant | undefined;
}

/**
 * Lists an owner's notifications by the version of their latest reaction, newest first, in full
 * pages (`listGroups`). Refusal: INVALID_REQUEST for a bad cursor.
 */
export async function listNotifications(
  deps: Pick<Deps, "reader" | "clock">,
  filter: GroupFilter,
  page: PageRequest,
): Promise<Page<Notification>> {
  const { ownerId, state } = filter;
  const [found, { seenVersion }] = await Promise.all([
    listGroups(deps, filter, page),
    // A read notification counts as seen, whatever the inbox says.
    state === "READ" ? emptyInbox : inboxOf(deps, ownerId),
  ]);
  const items = found.items.map(({ group, target }) =>
    toNotification(ownerId, group, target, seenVersion),
  );
  return { ...found, items: await withLatestEvents(deps, items) };
}

function toNotification(
  ownerId: string,
  group: ListedGroup,
  target: Target | undefined,
  seenVersion: number,
): Omit<Notification, "latestEvents"> {
  const { kind, generation, actorCount, firstMembers, latestMembers } = group;
  const version = versionOf(group);
  const isRead = "readTime" in group;
  const people = shownPeople(group);
  return {
    id: { ownerId, target: group.target, kind, generation },
    target,
    kind: kindName(kind),
    ...(isEventKind(kind)
      ? { type: "EVENT", eventCount: group.memberCount }
      : { type: "REACTION", eventCount: 0 }),
    actorCount,
    firstMembers,
    latestMembers,
    firstPeople: people.first,
    latestPeople: people.latest,
    version,
    seen: isRead || version <= seenVersion,
    ...(isRead && { readTime: group.readTime, expireTime: group.expireTime }),
  };
}

/** Reads a notification, unread or read. Refusal: NOTIFICATION_NOT_FOUND. */
export async function getNotification(deps: FindDeps, name: GroupName): Promise<Notification> {
  const found = await findNotification(deps, name);
  if (!found) throw new DomainError("NOTIFICATION_NOT_FOUND", "there is no such notification");
  return found;
}

/**
 * Reads what became of a notification by a mark as read. Undefined when nobody in it was read, or
 * when its target is deleted.
 */
export async function readNotification(
  deps: FindDeps,
  name: GroupName,
): Promise<Notification | undefined> {
  const found = await findNotification(deps, name);
  return found?.readTime === undefined ? undefined : found;
}

/** A group that is known already as a notification: only its latest events are read. */
export async function describeGroup(
  deps: Pick<Deps, "reader">,
  ownerId: string,
  { group, target }: { readonly group: ListedGroup; readonly target: Target | undefined },
  seenVersion: number,
): Promise<Notification> {
  const [described] = await withLatestEvents(deps, [
    toNotification(ownerId, group, target, seenVersion),
  ]);
  return described as Notification;
}

type FindDeps = Pick<Deps, "reader" | "engine" | "clock">;

async function findNotification(
  deps: FindDeps,
  name: GroupName,
): Promise<Notification | undefined> {
  const group = await findGroup(deps, name);
  if (!group) return undefined;
  const [[shown], { seenVersion }] = await Promise.all([
    withTargets(deps.reader, [group]),
    inboxOf(deps, name.ownerId),
  ]);
  if (!shown) return undefined;
  return describeGroup(deps, name.ownerId, shown, seenVersion);
}

/**
 * Lists the active reactions, or the events, of a notification, newest first. Refusals:
 * NOTIFICATION_NOT_FOUND, INVALID_REQUEST for a bad cursor.
 */
export async function listNotificationActors(
  deps: Pick<Deps, "reader" | "engine" | "clock">,
  name: GroupName,
  page: PageRequest,
): Promise<Page<MemberRecord>> {
  const group = await findGroup(deps, name);
  if (!group) throw new DomainError("NOTIFICATION_NOT_FOUND", "there is no such notification");
  const { target, kind, generation: from } = group;
  const versions = { from, to: versionOf(group) };
  if (isEventKind(kind)) return deps.reader.events(name, versions, page);
  return deps.reader.reactions({ target, kind, notified: versions }, page);
}

/** Adds their latest events to notifications. Events whose records are deleted are left out. */
async function withLatestEvents<N extends Pick<Notification, "id" | "latestMembers">>(
  { reader }: Pick<Deps, "reader">,
  notifications: readonly N[],
): Promise<(N & { latestEvents: readonly Event[] })[]> {
  const refs = notifications.map(({ id, latestMembers }) =>
    isEventKind(id.kind)
      ? latestMembers.map(({ userId, version }) => notificationEventRef(id, userId, version))
      : [],
  );
  const found = await reader.many(refs.flat());
  let read = 0;
  return notifications.map((notification, i) => {
    const count = refs[i]?.length ?? 0;
    const events = found.slice(read, read + count);
    read += count;
    return { ...notification, latestEvents: events.filter((event) => event !== undefined) };
  });
}
