import type { Instant } from "../domain/month.ts";
import { type Deps, testClockRef } from "./ports.ts";

/** Where the test clock stands. */
export async function getTime(deps: Deps): Promise<Instant> {
  return (await deps.clock.now()).calendar;
}

/** Sets the test clock for all processes on the same tables; it stands there until it is moved. */
export function setTime(deps: Deps, time: Instant): Promise<Instant> {
  return moveTo(deps, () => time);
}

/** Moves the test clock by `ms` milliseconds. */
export function advanceTime(deps: Deps, ms: number): Promise<Instant> {
  return moveTo(deps, (now) => now + ms);
}

function moveTo(deps: Deps, where: (now: Instant) => Instant): Promise<Instant> {
  return deps.engine.run({
    key: testClockRef,
    reads: [testClockRef],
    absent: [],
    deadline: undefined,
    decide(view, now) {
      const time = where(view.get(testClockRef)?.time ?? now.calendar);
      view.put(testClockRef, { time });
      return time;
    },
  });
}
