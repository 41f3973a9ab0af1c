import { type Inbox, removed } from "../../domain/notification.ts";
import type { Target, TargetName } from "../../domain/reaction.ts";
import { type Deps, groupRef, inboxRef, targetRef } from "../ports/deps.ts";

/**
 * Removes the unread groups of a deleted target. Tells of which kinds there are reactions to remove
 * then; none of a target that stands.
 */
export async function removeUnread(deps: Deps, target: TargetName): Promise<string[]> {
  const tombstone = await tombstoneOf(deps, target);
  if (!tombstone) return [];
  const { owner, counts } = tombstone;
  const kinds = Object.keys(counts);
  const refs = kinds.map((kind) => groupRef(owner, target, kind));
  const ref = inboxRef(owner);
  const left = await deps.engine.run({
    key: ref,
    reads: [ref, ...refs],
    absent: [],
    deadline: undefined,
    decide(view) {
      let inbox = view.get(ref);
      let changed: Inbox | undefined;
      for (const each of refs) {
        const group = view.get(each);
        if (!group || !inbox) continue;
        view.delete(each);
        changed = inbox = removed(inbox, group);
      }
      if (changed) view.put(ref, changed);
      return changed;
    },
  });
  if (left) deps.watches.saw(owner, left);
  return kinds;
}

/**
 * Removes a page of a deleted target's reactions; nothing of a target that stands. Tells whether
 * there may be more.
 */
export async function removeReactions(
  deps: Deps,
  target: TargetName,
  kind: string,
): Promise<boolean> {
  return (await tombstoneOf(deps, target)) ? deps.remover.reactions(target, kind) : false;
}

/**
 * Removes a deleted target's read groups, page by page; nothing of a target that stands. Tells
 * where to go on.
 */
export async function removeHistory(
  deps: Deps,
  owner: string,
  target: TargetName,
  cursor: string | undefined,
): Promise<string | undefined> {
  const tombstone = await tombstoneOf(deps, target);
  return tombstone && deps.remover.history(owner, target, cursor);
}

async function tombstoneOf({ reader }: Deps, target: TargetName): Promise<Target | undefined> {
  const found = await reader.get(targetRef(target));
  return found?.value.deleted ? found.value : undefined;
}
