/** Full pages of an owner's groups: both states in one order, without those that are not shown. */

import { badCursor, type Page, type PageRequest } from "../../../platform/ports/pages.ts";
import type { Instant } from "../../../platform/words/month.ts";
import { fullPage } from "../../../platform/work/full-page.ts";
import type { Deps } from "../../ports/deps.ts";
import { targetRef } from "../../ports/records.ts";
import { isNoTarget } from "../../rules/event.ts";
import type { StoredKind } from "../../rules/kinds.ts";
import type { Target } from "../../rules/target.ts";
import { type ReadGroup, type UnreadGroup, versionOf } from "../../rules/unread-group.ts";
import { inboxOf } from "./inbox.ts";

/** Which groups of an owner are listed. */
export interface GroupFilter {
  readonly ownerId: string;
  readonly state: "UNREAD" | "READ" | "ALL";
  /** Only groups of these kinds are listed; those of all kinds if there is none. */
  readonly kinds: readonly StoredKind[];
}

export type ListedGroup = UnreadGroup | ReadGroup;

/** A group with its target, which is not deleted; undefined for events that are about none. */
interface ShownGroup {
  readonly group: ListedGroup;
  readonly target: Target | undefined;
}

/**
 * Lists groups by version, newest first, without expired ones, those of other kinds and those about
 * deleted targets, in full pages (`fullPage`).
 *
 * Every group of an owner has another version, so a version is the cursor: that of the last group
 * of the page, or of the last one that was read, if only groups that are not shown follow the page.
 * Refusal: INVALID_REQUEST for a bad cursor.
 */
export async function listGroups(
  { reader, clock }: Pick<Deps, "reader" | "clock">,
  filter: GroupFilter,
  page: PageRequest,
): Promise<Page<ShownGroup>> {
  const { wall } = await clock.now();
  return fullPage(page, {
    read: ({ size, cursor }) => groupsBefore(reader, filter, toVersion(cursor), size),
    show: (groups) =>
      withTargets(
        reader,
        groups.filter((group) => isListed(group, filter, wall)),
      ),
    cursorAfter: ({ group }) => String(versionOf(group)),
  });
}

function isListed(group: ListedGroup, { kinds }: GroupFilter, now: Instant): boolean {
  if ("expireTime" in group && group.expireTime <= now) return false;
  return kinds.length === 0 || kinds.includes(group.kind);
}

/** The groups with their targets, without those about deleted targets. */
export async function withTargets(
  reader: Deps["reader"],
  groups: readonly ListedGroup[],
): Promise<ShownGroup[]> {
  const targets = await reader.many(groups.map(({ target }) => targetRef(target)));
  return groups.flatMap((group, i) => {
    const target = targets[i];
    const isShown = target ? target.deleteTime === undefined : isNoTarget(group.target);
    return isShown ? [{ group, target }] : [];
  });
}

/**
 * Finds up to `size` groups of a version below `before`, of both states unless one is wanted. Reads
 * one more of each, because a query that ends with the last group does not say so.
 */
async function groupsBefore(
  reader: Deps["reader"],
  { ownerId, state }: GroupFilter,
  before: number | undefined,
  size: number,
): Promise<Page<ListedGroup>> {
  const page = { size: size + 1, cursor: undefined };
  const none: Page<ListedGroup> = { items: [] };
  const readUnread = () => reader.unreadGroups(ownerId, true, page, before);
  // The read ones are read last: one that is marked as read in between is then in both lists.
  const unread = state === "READ" ? none : await readUnread();
  const read = state === "UNREAD" ? none : await reader.readGroups(ownerId, 0, page, before);
  // One that is marked as unread in between is in neither list. It is a closed one from then on.
  const mayMiss = state === "ALL" && (await inboxOf({ reader }, ownerId)).closedCount > 0;
  const again = mayMiss ? await readUnread() : none;
  const found = [...again.items, ...unread.items, ...read.items];
  const all = new Map(found.map((each) => [versionOf(each), each]));
  const sorted = [...all.values()].sort((a, b) => versionOf(b) - versionOf(a));
  // Beyond the end of a list that goes on, the other list alone would leave its groups out.
  const limits = [again, unread, read].flatMap(({ cursor, items }) =>
    cursor === undefined ? [] : items.slice(-1).map(versionOf),
  );
  const items = sorted.filter((each) => versionOf(each) >= Math.max(0, ...limits)).slice(0, size);
  const hasMore = items.length < sorted.length || limits.length > 0;
  const cursor = hasMore ? String(versionOf(items.at(-1) as ListedGroup)) : undefined;
  return { items, cursor };
}

function toVersion(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(cursor)) return Number(cursor);
  throw badCursor();
}
