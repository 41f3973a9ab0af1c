/** Finds the closed groups that a decision needs, and puts what becomes of unread groups. */

import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Ref } from "../../../platform/ports/records.ts";
import type { Instant } from "../../../platform/words/month.ts";
import type { TargetName } from "../../../platform/words/target-name.ts";
import type { Milliseconds } from "../../../platform/words/units.ts";
import {
  closedGroupRef,
  closedGroupsRef,
  inboxRef,
  reactionRef,
  unreadGroupRef,
} from "../../ports/records.ts";
import {
  type ClosedRange,
  closedAt,
  isTooOld,
  maxClosedGroups,
  replaceRange,
} from "../../rules/closed-group.ts";
import type { StoredKind } from "../../rules/kinds.ts";
import type { UnreadGroup } from "../../rules/unread-group.ts";
import type { UnreadName } from "./named-groups.ts";

/**
 * The closed groups of an owner about a target, of which the request expects the list to be absent.
 * Reads it only if the owner has closed groups.
 */
export function closedRanges(
  tx: Transaction,
  ownerId: string,
  target: TargetName,
): readonly ClosedRange[] {
  const closedCount = tx.get(inboxRef(ownerId))?.closedCount ?? 0;
  return closedCount > 0 ? (tx.get(closedGroupsRef(ownerId, target))?.ranges ?? []) : [];
}

/** Names the closed group with a member of this version. Undefined if there is none. */
export function closedRefAt(
  tx: Transaction,
  { ownerId, target, kind }: UnreadName,
  version: number,
): Ref<"unreadGroup"> | undefined {
  const found = closedAt(closedRanges(tx, ownerId, target), kind, version);
  return found && closedGroupRef(ownerId, target, kind, found.generation);
}

/**
 * Names the closed group that has a person's reaction, or the position to which the next one comes
 * back. Undefined if the reaction is in the open group or in none.
 */
export function closedRefOf(
  tx: Transaction,
  { userId, ...name }: UnreadName & { readonly userId: string },
): Ref<"unreadGroup"> | undefined {
  const found = tx.get(reactionRef(name.target, name.kind, userId));
  if (!found || ("userId" in found && !found.notified)) return undefined;
  const version = "userId" in found ? found.version : found.position?.version;
  return version === undefined ? undefined : closedRefAt(tx, name, version);
}

/** Names the closed groups of an owner about a target, if given of one kind. */
export const closedRefsOf = (
  tx: Transaction,
  ownerId: string,
  target: TargetName,
  kind?: StoredKind,
): readonly Ref<"unreadGroup">[] =>
  closedRanges(tx, ownerId, target)
    .filter((each) => kind === undefined || each.kind === kind)
    .map((each) => closedGroupRef(ownerId, target, each.kind, each.generation));

/** `regroupAfterMs`, unless it would close a group of a target that has as many as it may have. */
export function regroupAfterOf(
  tx: Transaction,
  ownerId: string,
  open: UnreadGroup | undefined,
  now: Instant,
  regroupAfterMs: Milliseconds | undefined,
): Milliseconds | undefined {
  if (!open || !isTooOld(open, now, regroupAfterMs)) return undefined;
  const count = closedRanges(tx, ownerId, open.target).length;
  return count < maxClosedGroups ? regroupAfterMs : undefined;
}

/** The ref of an unread group. */
export const refOfGroup = (ownerId: string, { target, kind, generation, closed }: UnreadGroup) =>
  closed
    ? closedGroupRef(ownerId, target, kind, generation)
    : unreadGroupRef(ownerId, target, kind);

/**
 * Puts what has become of an unread group at this version of the inbox, and of the list of closed
 * ones. A group that has begun had no record of its name before.
 */
export function putUnread(
  tx: Transaction,
  ownerId: string,
  before: UnreadGroup | undefined,
  after: UnreadGroup | undefined,
  version: number,
): void {
  if (before === after) return;
  const refs = {
    before: before && refOfGroup(ownerId, before),
    after: after && refOfGroup(ownerId, after),
  };
  if (refs.before && refs.before.id !== refs.after?.id) tx.delete(refs.before);
  if (after && refs.after) tx.put(refs.after, after, version);
  const target = (before ?? after)?.target;
  if (!target || !(before?.closed || after?.closed)) return;
  const listRef = closedGroupsRef(ownerId, target);
  const ranges = tx.get(listRef)?.ranges ?? [];
  const next = replaceRange(ranges, before, after);
  if (next === ranges) return;
  if (next.length > 0) tx.put(listRef, { ranges: next }, version);
  else tx.delete(listRef);
}
