/** The use cases that purge what a deleted target has left. */
import { type Inbox, withoutGroup } from "../../domain/notification.ts";
import type { Target, TargetName } from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import { inboxRef, targetRef, unreadGroupRef } from "../ports/records.ts";

/**
 * Deletes the unread groups of a deleted target. Returns the kinds of its reactions, which are to
 * be purged next. Does nothing for an active target and returns no kinds.
 */
export async function purgeUnread(
  deps: Pick<Deps, "engine" | "reader" | "unreadCounts">,
  target: TargetName,
): Promise<string[]> {
  const tombstone = await tombstoneOf(deps, target);
  if (!tombstone) return [];
  const { ownerId, counts } = tombstone;
  const kinds = Object.keys(counts);
  const groupRefs = kinds.map((kind) => unreadGroupRef(ownerId, target, kind));
  const ref = inboxRef(ownerId);
  const changedInbox = await deps.engine.transact({
    key: ref,
    readSet: [ref, ...groupRefs],
    expectAbsent: [],
    deadline: undefined,
    decide(tx) {
      let inbox = tx.get(ref);
      let changed: Inbox | undefined;
      for (const groupRef of groupRefs) {
        const group = tx.get(groupRef);
        if (!group || !inbox) continue;
        tx.delete(groupRef);
        changed = inbox = withoutGroup(inbox, group);
      }
      if (changed) tx.put(ref, changed);
      return changed;
    },
  });
  if (changedInbox) deps.unreadCounts.publish(ownerId, changedInbox);
  return kinds;
}

/**
 * Deletes a page of a deleted target's reactions. Returns whether there may be more. Does nothing
 * for an active target.
 */
export async function purgeReactions(
  deps: Pick<Deps, "reader" | "purger">,
  target: TargetName,
  kind: string,
): Promise<boolean> {
  return (await tombstoneOf(deps, target)) ? deps.purger.reactions(target, kind) : false;
}

/**
 * Deletes a page of a deleted target's read groups. Returns the cursor of the next page; undefined
 * at the end. Does nothing for an active target.
 */
export async function purgeHistory(
  deps: Pick<Deps, "reader" | "purger">,
  ownerId: string,
  target: TargetName,
  cursor: string | undefined,
): Promise<string | undefined> {
  const tombstone = await tombstoneOf(deps, target);
  return tombstone && deps.purger.history(ownerId, target, cursor);
}

/** Reads the target. Returns undefined unless it is deleted. */
async function tombstoneOf(
  { reader }: Pick<Deps, "reader">,
  target: TargetName,
): Promise<Target | undefined> {
  const found = await reader.get(targetRef(target));
  return found?.value.deleted ? found.value : undefined;
}
