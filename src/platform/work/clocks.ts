/** The clocks of a process: the machine's clock, and the test clock in the store. */

import type { Clock, ClockSkew } from "../ports/clock.ts";
import { type RecordReader, testClockRef } from "../ports/records.ts";
import { DomainError } from "../words/errors.ts";
import type { Instant } from "../words/month.ts";

/** A clock that is off by more than this could expire points that are still valid. */
const toleranceMs = 5_000;

/**
 * This machine's clock, corrected by its measured skew. Throws CLOCK_OFF while it is proven to be
 * more than 5 s off the store's.
 */
export function createSystemClock(skew: ClockSkew): Clock {
  return {
    async now() {
      const skewMs = skew.skewMs();
      if (Math.abs(skewMs) > toleranceMs) {
        throw new DomainError("CLOCK_OFF", "this server's clock is off; try another", {
          skew_ms: String(Math.trunc(skewMs)),
        });
      }
      const wall = correctedTime(skew);
      return { calendar: wall, wall };
    },
  };
}

/** The test clock, shared by all processes on the same tables. Real time until it is first set. */
export function createTestClock(reader: RecordReader, skew: Pick<ClockSkew, "offsetMs">): Clock {
  return {
    async now() {
      const found = await reader.get(testClockRef);
      const wall = correctedTime(skew);
      return { calendar: found?.value.time ?? wall, wall };
    },
  };
}

const correctedTime = (skew: Pick<ClockSkew, "offsetMs">): Instant => Date.now() + skew.offsetMs();
