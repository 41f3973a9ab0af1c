/** The grants that this worker holds although their time is over: it asks no store about them. */

import type { ReservationName } from "../due/ports/due.ts";
import type { Milliseconds } from "../platform/words/units.ts";
import type { PastDueGrants } from "../reservations/ports/observers.ts";

/** A failed attempt is mostly followed by the next one within 15 s, on this worker or another. */
const awaitedMs = 20_000;

interface Held {
  readonly dueSince: number;
  /** The attempts under way: of an activity that has timed out, one goes on beside the next. */
  attempts: number;
  /** When the last of them has ended. */
  endedAt: number;
}

interface PastDue {
  readonly count: number;
  readonly oldestMs: Milliseconds;
}

const idOf = ({ programId, reservationId }: ReservationName) => `${programId}/${reservationId}`;

interface Memory extends PastDueGrants {
  read(): PastDue;
  /**
   * Forgets the grants that no attempt has held for 20 s. To be called after a sweep has read the
   * store, which finds those that are still to be made. While the store is away nobody else knows
   * of them, however late a busy worker comes to the next attempt.
   */
  forgetEnded(): void;
}

/** Returns the memory, and how many grants in it are past due now. */
export function createPastDueGrants(): Memory {
  const held = new Map<string, Held>();
  return {
    begin(name, dueSince) {
      const id = idOf(name);
      // A later attempt may be a new activity, which does not know since when the grant is due.
      const grant = held.get(id) ?? { dueSince, attempts: 0, endedAt: 0 };
      grant.attempts += 1;
      held.set(id, grant);
      return () => {
        grant.attempts -= 1;
        grant.endedAt = Date.now();
      };
    },
    settle(name) {
      held.delete(idOf(name));
    },
    forgetEnded() {
      const limit = Date.now() - awaitedMs;
      for (const [id, { attempts, endedAt }] of held) {
        if (attempts === 0 && endedAt <= limit) held.delete(id);
      }
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
