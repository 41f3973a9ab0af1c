/** The clocks of a process: the machine's clock, and the test clock in the store. */
import type { Clock } from "../app/ports/clock.ts";
import type { Reader } from "../app/ports/deps.ts";
import { testClockRef } from "../app/ports/records.ts";
import { DomainError } from "../domain/errors.ts";

/** A clock that is off by more than this could expire points that are still valid. */
const toleranceMs = 5_000;

/** This machine's clock. Throws CLOCK_OFF while it is more than 5 s off the store's. */
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

/** The test clock, shared by all processes on the same tables. Real time until it is first set. */
export function createTestClock(reader: Reader): Clock {
  return {
    async now() {
      const wall = Date.now();
      const found = await reader.get(testClockRef);
      return { calendar: found?.value.time ?? wall, wall };
    },
  };
}
