import { DomainError } from "../domain/errors.ts";
import type { Instant } from "../domain/month.ts";
import type { Deps } from "./ports/deps.ts";
import { testClockRef } from "./ports/records.ts";

/** Points granted here still expire within the years that a timestamp can tell. */
const latest: Instant = Date.UTC(9990, 0);

/** Where the test clock stands. */
export async function getTime(deps: Pick<Deps, "clock">): Promise<Instant> {
  return (await deps.clock.now()).calendar;
}

/**
 * Sets the test clock for all processes on the same tables; it stands there until it is moved.
 * Refusal: INVALID_REQUEST from the year 9990 on.
 */
export function setTime(deps: Pick<Deps, "engine">, time: Instant): Promise<Instant> {
  return moveTo(deps, "time", () => time);
}

/** Moves the test clock by `ms` milliseconds. Refusal: INVALID_REQUEST from the year 9990 on. */
export function advanceTime(deps: Pick<Deps, "engine">, ms: number): Promise<Instant> {
  return moveTo(deps, "duration", (now) => now + ms);
}

function moveTo(
  deps: Pick<Deps, "engine">,
  field: string,
  where: (now: Instant) => Instant,
): Promise<Instant> {
  return deps.engine.transact({
    key: testClockRef,
    readSet: [testClockRef],
    expectAbsent: [],
    deadline: undefined,
    decide(tx, now) {
      const time = where(tx.get(testClockRef)?.time ?? now.calendar);
      if (time >= latest) {
        throw new DomainError("INVALID_REQUEST", "the clock goes up to the year 9989", { field });
      }
      tx.put(testClockRef, { time });
      return time;
    },
  });
}
