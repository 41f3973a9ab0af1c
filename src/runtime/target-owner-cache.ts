import { LRUCache } from "lru-cache";
import type { Reader } from "../app/ports/deps.ts";
import type { TargetOwners } from "../app/ports/reactions.ts";
import { targetRef } from "../app/ports/records.ts";
import { requireExisting } from "../domain/target.ts";

/** How many owners are remembered, the latest ones asked for. */
const maxOwners = 100_000;

/**
 * Who owns which target. An owner that was found is right for good, tombstones included; that there
 * is none is asked anew each time, by each caller.
 */
export function createTargetOwnerCache(reader: Reader): TargetOwners {
  const owners = new LRUCache<string, string>({ max: maxOwners });
  return {
    async of(target) {
      const ref = targetRef(target);
      const known = owners.get(ref.id);
      if (known !== undefined) return known;
      const { ownerId } = requireExisting((await reader.get(ref))?.value);
      owners.set(ref.id, ownerId);
      return ownerId;
    },
  };
}
