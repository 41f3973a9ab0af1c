/** Keeps the owners of targets, which never change. */
import { LRUCache } from "lru-cache";
import type { TargetOwners } from "../../platform/ports/target-owners.ts";
import type { Reader } from "../ports/deps.ts";
import { targetRef } from "../ports/records.ts";
import { requireExisting } from "../rules/reaction.ts";

/** How many owners are kept: the most recently used ones. */
const maxOwners = 100_000;

/**
 * Keeps each owner that was found: it never changes, not even when its target is deleted. Reads an
 * unknown target again for each call, because it may be registered later.
 */
export function createTargetOwnerCache(reader: Reader): TargetOwners {
  // Counted by sizes, because `max` allocates the places of all owners at once, which takes 9 ms.
  const owners = new LRUCache<string, string>({ maxSize: maxOwners, sizeCalculation: () => 1 });
  return {
    async of(target) {
      const ref = targetRef(target);
      const cached = owners.get(ref.id);
      if (cached !== undefined) return cached;
      const { ownerId } = requireExisting((await reader.get(ref))?.value);
      owners.set(ref.id, ownerId);
      return ownerId;
    },
  };
}
