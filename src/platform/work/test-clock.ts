/** The use cases that read and change the test clock. */

import type { Deps } from "../ports/deps.ts";
import { testClockRef } from "../ports/records.ts";
import { DomainError } from "../words/errors.ts";
import type { Instant } from "../words/month.ts";
import type { Milliseconds } from "../words/units.ts";
import { changeRecord } from "./change-record.ts";

/** Points granted before this instant expire within the years that a timestamp can have. */
const latestTime: Instant = Date.UTC(9990, 0);

/** Returns the time of the test clock. */
export async function getTime(deps: Pick<Deps, "clock">): Promise<Instant> {
  return (await deps.clock.now()).calendar;
}

/**
 * Sets the test clock for all processes on the same tables. It keeps this time until the next
 * change. Refusal: INVALID_REQUEST from the year 9990 on.
 */
export function setTime(deps: Pick<Deps, "engine">, time: Instant): Promise<Instant> {
  return changeTime(deps, "time", () => time);
}

/** Advances the test clock by `ms` milliseconds. Refusal: INVALID_REQUEST from the year 9990 on. */
export function advanceTime(deps: Pick<Deps, "engine">, ms: Milliseconds): Promise<Instant> {
  return changeTime(deps, "duration", (now) => now + ms);
}

async function changeTime(
  deps: Pick<Deps, "engine">,
  field: string,
  newTime: (now: Instant) => Instant,
): Promise<Instant> {
  const { record } = await changeRecord(deps, { ref: testClockRef }, (set, now) => {
    const time = newTime(set?.time ?? now.calendar);
    if (time < latestTime) return { time };
    throw new DomainError("INVALID_REQUEST", "the clock goes up to the year 9989", { field });
  });
  return record.time;
}
