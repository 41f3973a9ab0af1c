/** The grants that this worker holds although their time is over: it asks no store about them. */

import type { ReservationName } from "../due/ports/due.ts";
import type { Milliseconds } from "../platform/words/units.ts";
import type { PastDueGrants } from "../reservations/ports/observers.ts";

/**
 * A failed attempt is followed by the next one within 15 s, on this worker or on another one, and
 * counts until then.
 */
const awaitedMs = 20_000;

interface Held {
  readonly dueSince: number;
  /** The attempts under way: of an activity that has timed out, one goes on beside the next. */
  attempts: number;
  /** Forgets the grant, whether or not anybody reads, when its last attempt has failed. */
  forgetting: NodeJS.Timeout | undefined;
}

interface PastDue {
  readonly count: number;
  readonly oldestMs: Milliseconds;
}

const idOf = ({ programId, reservationId }: ReservationName) => `${programId}/${reservationId}`;

/** Returns the memory, and how many grants in it are past due now. */
export function createPastDueGrants(): PastDueGrants & { read(): PastDue } {
  const held = new Map<string, Held>();
  return {
    begin(name, dueSince) {
      const id = idOf(name);
      // A later attempt may be a new activity, which does not know since when the grant is due.
      const grant = held.get(id) ?? { dueSince, attempts: 0, forgetting: undefined };
      clearTimeout(grant.forgetting);
      grant.attempts += 1;
      held.set(id, grant);
      return () => {
        grant.attempts -= 1;
        if (grant.attempts > 0 || held.get(id) !== grant) return;
        grant.forgetting = setTimeout(() => held.delete(id), awaitedMs).unref();
      };
    },
    settle(name) {
      const id = idOf(name);
      clearTimeout(held.get(id)?.forgetting);
      held.delete(id);
    },
    holds(name) {
      const grant = held.get(idOf(name));
      return grant !== undefined && grant.attempts > 0 && grant.dueSince <= Date.now();
    },
    read() {
      let [count, oldestMs] = [0, 0];
      for (const { dueSince } of held.values()) {
        const lateMs = Date.now() - dueSince;
        if (lateMs < 0) continue;
        count += 1;
        oldestMs = Math.max(oldestMs, lateMs);
      }
      return { count, oldestMs };
    },
  };
}
