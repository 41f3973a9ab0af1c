/** The use cases that list notifications and their actors. */
import { DomainError } from "../../domain/errors.ts";
import { emptyInbox } from "../../domain/inbox.ts";
import { isEventKind, kindName } from "../../domain/kinds.ts";
import type { Instant } from "../../domain/month.ts";
import type { Reaction, Target } from "../../domain/target.ts";
import {
  firstVersionOf,
  type Member,
  type ReadGroup,
  type UnreadGroup,
  versionOf,
} from "../../domain/unread-group.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import { readGroupRef, targetRef, unreadGroupRef } from "../ports/records.ts";
import type { UnreadName } from "./commands.ts";
import { inboxOf } from "./inbox.ts";

/** Names an unread group of an owner, or, with its version, a read one. */
export interface NotificationId extends UnreadName {
  readonly readVersion?: number;
}

/** A group as it is listed, with its target. */
export interface Notification {
  readonly id: NotificationId;
  readonly target: Target;
  /** The kind of its reactions or events, as callers know it. */
  readonly kind: string;
  readonly type: "REACTION" | "EVENT";
  readonly actorCount: number;
  readonly firstMembers: readonly Member[];
  readonly latestMembers: readonly Member[];
  /** The version of the latest member. */
  readonly version: number;
  /** Whether the owner has seen it. A read one counts as seen. */
  readonly seen: boolean;
  readonly readTime?: Instant;
  readonly expireTime?: Instant;
}

type ListDeps = Pick<Deps, "reader" | "clock">;

/**
 * Lists an owner's notifications by the version of their latest reaction, newest first, without
 * notifications about deleted targets. Refusal: INVALID_REQUEST for a bad cursor.
 */
export async function listNotifications(
  deps: ListDeps,
  ownerId: string,
  state: "UNREAD" | "READ" | "ALL",
  page: PageRequest,
): Promise<Page<Notification>> {
  const { reader } = deps;
  const [found, { seenVersion }] = await Promise.all([
    listGroups(deps, ownerId, state, page),
    // A read notification counts as seen, whatever the inbox says.
    state === "READ" ? emptyInbox : inboxOf(deps, ownerId),
  ]);
  const targets = await reader.many(found.items.map(({ target }) => targetRef(target)));
  const items = found.items.flatMap((group, i) => {
    const target = targets[i];
    if (!target || target.deleteTime !== undefined) return [];
    return [toNotification(ownerId, group, target, seenVersion)];
  });
  return { ...found, items };
}

function toNotification(
  ownerId: string,
  group: Listed,
  target: Target,
  seenVersion: number,
): Notification {
  const { kind, actorCount, firstMembers, latestMembers } = group;
  const version = versionOf(group);
  const isRead = "readTime" in group;
  return {
    id: { ownerId, target: group.target, kind, ...(isRead && { readVersion: version }) },
    target,
    kind: kindName(kind),
    type: isEventKind(kind) ? "EVENT" : "REACTION",
    actorCount,
    firstMembers,
    latestMembers,
    version,
    seen: isRead || version <= seenVersion,
    ...(isRead && { readTime: group.readTime, expireTime: group.expireTime }),
  };
}

async function listGroups(
  { reader, clock }: ListDeps,
  ownerId: string,
  state: "UNREAD" | "READ" | "ALL",
  page: PageRequest,
): Promise<Page<Listed>> {
  if (state === "UNREAD") return reader.unreadGroups(ownerId, true, page);
  const { wall } = await clock.now();
  if (state === "READ") return reader.readGroups(ownerId, wall, page);
  const merged = await mergedGroups(reader, ownerId, page);
  const isKept = (group: Listed) => !("expireTime" in group) || group.expireTime > wall;
  return { ...merged, items: merged.items.filter(isKept) };
}

type Listed = UnreadGroup | ReadGroup;

/**
 * Merges unread and read groups, expired ones included, by version. Every group of an owner has
 * another version, so the version of a page's last group is the cursor of the next page.
 */
async function mergedGroups(
  reader: ListDeps["reader"],
  ownerId: string,
  { size, cursor }: PageRequest,
): Promise<Page<Listed>> {
  if (cursor !== undefined && !/^[1-9]\d{0,14}$/.test(cursor)) throw badCursor();
  const before = cursor === undefined ? undefined : Number(cursor);
  const page = { size, cursor: undefined };
  // The read ones are read last: one that is marked as read in between is then in both lists.
  const unread = await reader.unreadGroups(ownerId, true, page, before);
  const read = await reader.readGroups(ownerId, 0, page, before);
  const both: readonly Listed[] = [...unread.items, ...read.items];
  const all = new Map(both.map((each) => [versionOf(each), each]));
  const sorted = [...all.values()].sort((a, b) => versionOf(b) - versionOf(a));
  // Beyond the end of a list that goes on, the other list alone would leave its groups out.
  const limits = [unread, read].flatMap(({ cursor: next, items }) =>
    next === undefined ? [] : items.slice(-1).map(versionOf),
  );
  const items = sorted.filter((each) => versionOf(each) >= Math.max(0, ...limits)).slice(0, size);
  const hasMore = items.length < sorted.length || limits.length > 0;
  const last = items.at(-1);
  return { items, ...(hasMore && last && { cursor: String(versionOf(last)) }) };
}

const badCursor = () =>
  new DomainError("INVALID_REQUEST", "is not a token of this list", { field: "page_token" });

/**
 * Lists the active reactions of the members of a notification, newest first. Refusals:
 * NOTIFICATION_NOT_FOUND, INVALID_REQUEST for a bad cursor.
 */
export async function listNotificationActors(
  { reader }: Pick<Deps, "reader">,
  { ownerId, target, kind, readVersion }: NotificationId,
  page: PageRequest,
): Promise<Page<Reaction>> {
  const ref =
    readVersion === undefined
      ? unreadGroupRef(ownerId, target, kind)
      : readGroupRef(ownerId, readVersion, target, kind);
  const group = (await reader.get<"unreadGroup" | "readGroup">(ref))?.value;
  if (!group) throw new DomainError("NOTIFICATION_NOT_FOUND", "there is no such notification");
  const notified = { from: firstVersionOf(group), to: versionOf(group) };
  return reader.reactions({ target, kind, notified }, page);
}
