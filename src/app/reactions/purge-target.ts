import { type Inbox, withoutGroup } from "../../domain/notification.ts";
import type { Target, TargetName } from "../../domain/target.ts";
import type { Deps } from "../ports/deps.ts";
import { inboxRef, targetRef, unreadGroupRef } from "../ports/records.ts";

/**
 * Removes the unread groups of a deleted target. Tells of which kinds there are reactions to remove
 * then; none of a target that stands.
 */
export async function purgeUnread(
  deps: Pick<Deps, "engine" | "reader" | "unreadCounts">,
  target: TargetName,
): Promise<string[]> {
  const tombstone = await tombstoneOf(deps, target);
  if (!tombstone) return [];
  const { ownerId, counts } = tombstone;
  const kinds = Object.keys(counts);
  const refs = kinds.map((kind) => unreadGroupRef(ownerId, target, kind));
  const ref = inboxRef(ownerId);
  const left = await deps.engine.transact({
    key: ref,
    readSet: [ref, ...refs],
    expectAbsent: [],
    deadline: undefined,
    decide(tx) {
      let inbox = tx.get(ref);
      let changed: Inbox | undefined;
      for (const each of refs) {
        const group = tx.get(each);
        if (!group || !inbox) continue;
        tx.delete(each);
        changed = inbox = withoutGroup(inbox, group);
      }
      if (changed) tx.put(ref, changed);
      return changed;
    },
  });
  if (left) deps.unreadCounts.publish(ownerId, left);
  return kinds;
}

/**
 * Removes a page of a deleted target's reactions; nothing of a target that stands. Tells whether
 * there may be more.
 */
export async function purgeReactions(
  deps: Pick<Deps, "reader" | "purger">,
  target: TargetName,
  kind: string,
): Promise<boolean> {
  return (await tombstoneOf(deps, target)) ? deps.purger.reactions(target, kind) : false;
}

/**
 * Removes a deleted target's read groups, page by page; nothing of a target that stands. Tells
 * where to go on.
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

async function tombstoneOf(
  { reader }: Pick<Deps, "reader">,
  target: TargetName,
): Promise<Target | undefined> {
  const found = await reader.get(targetRef(target));
  return found?.value.deleted ? found.value : undefined;
}
