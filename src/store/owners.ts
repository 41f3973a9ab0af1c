import { LRUCache } from "lru-cache";
import { type Owners, type Reader, targetRef } from "../app/ports.ts";
import { DomainError } from "../domain/errors.ts";

/** How many owners are remembered, the latest ones asked for. */
const maxOwners = 100_000;

/**
 * Who owns which target. An owner that was found is right for good, tombstones included; that there
 * is none is asked anew each time, by each caller.
 */
export function createOwners(reader: Reader): Owners {
  const owners = new LRUCache<string, string>({ max: maxOwners });
  return {
    async of(target) {
      const ref = targetRef(target);
      const known = owners.get(ref.id);
      if (known !== undefined) return known;
      const found = await reader.get(ref);
      if (!found) throw new DomainError("TARGET_NOT_FOUND", "there is no such target");
      owners.set(ref.id, found.value.owner);
      return found.value.owner;
    },
  };
}
