/** Ends the unread groups of a deleted target. */

import type { CallLimits } from "../../../platform/ports/call.ts";
import type { Transaction } from "../../../platform/ports/engine.ts";
import type { Ref } from "../../../platform/ports/records.ts";
import type { Deps } from "../../ports/deps.ts";
import { closedGroupsRef, inboxRef, unreadGroupRef } from "../../ports/records.ts";
import type { EventsName } from "../../rules/event.ts";
import { type Inbox, replaceGroup } from "../../rules/inbox.ts";
import { inboxCountsOf } from "../../rules/unread-group.ts";
import { closedRefsOf, putUnread } from "../notifications/closed-groups.ts";

/** Ends an owner's unread groups of one kind of events about a deleted target. */
export async function endEventGroups(
  deps: Pick<Deps, "engine" | "unreadCounts">,
  { ownerId, target, kind }: EventsName,
  call?: CallLimits,
): Promise<void> {
  const refs = { inbox: inboxRef(ownerId), group: unreadGroupRef(ownerId, target, kind) };
  const inbox = await deps.engine.transact<Inbox | undefined>({
    key: refs.inbox,
    readSet: [refs.inbox, refs.group],
    expectAbsent: [closedGroupsRef(ownerId, target)],
    call,
    decide(tx) {
      const closedRefs = closedRefsOf(tx, ownerId, target, kind);
      return endUnreadGroups(tx, ownerId, [refs.group, ...closedRefs]);
    },
  });
  if (inbox) deps.unreadCounts.publish(ownerId, inbox);
}

/**
 * Deletes the unread groups of a target and takes them off the owner's inbox. Returns the inbox;
 * undefined when there was no group.
 */
export function endUnreadGroups(
  tx: Transaction,
  ownerId: string,
  groupRefs: readonly Ref<"unreadGroup">[],
): Inbox | undefined {
  const ref = inboxRef(ownerId);
  let changed: Inbox | undefined;
  for (const group of tx.getAll(groupRefs)) {
    const inbox = group && (changed ?? tx.get(ref));
    if (!inbox) continue;
    changed = replaceGroup(inbox, inboxCountsOf(group), undefined);
    putUnread(tx, ownerId, group, undefined, changed.version);
  }
  if (changed) tx.put(ref, changed);
  return changed;
}
