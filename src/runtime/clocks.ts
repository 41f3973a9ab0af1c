import type { Clock } from "../app/ports/clock.ts";
import type { Reader } from "../app/ports/deps.ts";
import { testClockRef } from "../app/ports/records.ts";
import { DomainError } from "../domain/errors.ts";

/** A clock that is off by more than this could expire points that are still good. */
const toleranceMs = 5_000;

/** This machine's clock, trusted while it agrees with the store's. */
export function createSystemClock(skewMs: () => number): Clock {
  return {
    async now() {
      const skew = skewMs();
      if (Math.abs(skew) > toleranceMs) {
        throw new DomainError("CLOCK_OFF", "this server's clock is off; try another", {
          skew_ms: String(skew),
        });
      }
      const wall = Date.now();
      return { calendar: wall, wall };
    },
  };
}

/** The test clock: one for all processes on the same tables. Real time until it is first set. */
export function createTestClock(reader: Reader): Clock {
  return {
    async now() {
      const wall = Date.now();
      const stands = await reader.get(testClockRef);
      return { calendar: stands?.value.time ?? wall, wall };
    },
  };
}
