/** Keeps which due hours this process has written. */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../platform/ports/clock.ts";
import type { Engine } from "../../platform/ports/engine.ts";
import type { DueHours } from "../ports/due.ts";
import { dueHourRef } from "../ports/records.ts";

const hourMs = 3_600_000;

/** How many hours are kept: the most recently used ones. */
const maxHours = 50_000;

/**
 * Writes each due hour once, and keeps that it has. The reconciler deletes an hour minutes after
 * its end, when nothing is marked in it any more, so what is kept stays true.
 */
export function createDueHours(engine: Engine, clock: Clock): DueHours {
  // Counted by sizes, because `max` allocates the places of all hours at once.
  const written = new LRUCache<string, true>({ maxSize: maxHours, sizeCalculation: () => 1 });
  return {
    async mark(programId, time, call) {
      const { wall } = await clock.now();
      const hour = Math.floor(Math.max(time, wall) / hourMs) * hourMs;
      const name = { programId, hour };
      const ref = dueHourRef(name);
      if (written.get(ref.id)) return;
      await engine.transact({
        key: ref,
        readSet: [],
        expectAbsent: [ref],
        call,
        decide(tx) {
          if (!tx.get(ref)) tx.put(ref, name);
        },
      });
      written.set(ref.id, true);
    },
  };
}
