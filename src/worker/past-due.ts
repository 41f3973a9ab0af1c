/** The grants that this worker holds although their time is over: it asks no store about them. */
import type { PastDueGrants } from "../app/ports/observers.ts";
import type { Milliseconds } from "../domain/units.ts";

/**
 * A failed attempt is followed by the next one within 15 s, on this worker or on another one, and
 * counts until then.
 */
const awaitedMs = 20_000;

interface Held {
  readonly dueSince: number;
  /** The attempts under way: of an activity that has timed out, one goes on beside the next. */
  attempts: number;
  /** When the last attempt has failed, by the monotonic clock. */
  failedAt: number;
}

interface PastDue {
  readonly count: number;
  readonly oldestMs: Milliseconds;
}

/** Returns the memory, and how many grants in it are past due now. */
export function createPastDueGrants(): PastDueGrants & { read(): PastDue } {
  const held = new Map<string, Held>();
  return {
    begin(id, dueSince) {
      // A later attempt may be a new activity, which does not know since when the grant is due.
      const grant = held.get(id) ?? { dueSince, attempts: 0, failedAt: 0 };
      grant.attempts += 1;
      held.set(id, grant);
      return () => {
        grant.attempts -= 1;
        grant.failedAt = performance.now();
      };
    },
    settle: (id) => void held.delete(id),
    read() {
      let [count, oldestMs] = [0, 0];
      for (const [id, { dueSince, attempts, failedAt }] of held) {
        const isForgotten = attempts === 0 && performance.now() > failedAt + awaitedMs;
        if (isForgotten) held.delete(id);
        const lateMs = Date.now() - dueSince;
        if (isForgotten || lateMs < 0) continue;
        count += 1;
        oldestMs = Math.max(oldestMs, lateMs);
      }
      return { count, oldestMs };
    },
  };
}
