/**
 * Estimates from the Date headers of responses how far the local clock is off the store's. One
 * header alone never changes what earlier ones have shown.
 */
import type { ClockSkew } from "../../ports/clock.ts";
import type { ClockReading } from "../../ports/clock-reading.ts";
import type { Milliseconds } from "../../words/units.ts";

export interface SkewEstimator extends ClockSkew {
  /**
   * Takes the Date header of a response, in ms, and the clocks when its request was sent and when
   * it was received.
   */
  observe(date: number, sent: ClockReading, received: ClockReading): void;
}

/** The range of the difference between the store's clock and a local clock, in ms. */
interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

const unknown: Bounds = { lower: Number.NEGATIVE_INFINITY, upper: Number.POSITIVE_INFINITY };

/** The fastest drift of a clock whose frequency NTP adjusts (500 ppm). */
const driftRate = 0.0005;

/** A wall clock that gained more on the monotonic one was set forward, or had run in a suspend. */
const jumpMs = 1_000;

/** A synchronised clock may be ahead by so much without a proof; docs/decisions/0016. */
const allowanceMs = 10;

/** By one response alone, a clock that is slower by more does not count. */
const outlierMs = 5_000;

/** Creates an estimator that reads the clocks of this machine with `readClocks`. */
export function createSkewEstimator(readClocks: () => ClockReading): SkewEstimator {
  let known = unknown;
  /** The bounds of the last response, if they contradict the known ones. */
  let doubt: Bounds | undefined;
  let last: ClockReading = readClocks();

  /** Bounds of the store's clock less the wall clock, unknown from a jump to the next response. */
  function offsets(bounds: Bounds): Bounds {
    const now = readClocks();
    if (hasJumped(last, now)) return unknown;
    const { lower, upper } = faded(bounds, now.monotonic - last.monotonic);
    return { lower: lower - leadOf(now), upper: upper - leadOf(now) };
  }

  return {
    observe(date, sent, received) {
      if (hasJumped(sent, received)) return;
      // The store read its clock between both moments, in the second that starts at `date`.
      const measured = { lower: date - received.monotonic, upper: date + 1_000 - sent.monotonic };
      const passedMs = received.monotonic - last.monotonic;
      const before = faded(known, passedMs);
      const agreed = common(before, measured);
      const confirmed = doubt && common(faded(doubt, passedMs), measured);
      // A wall clock that was set forward, or ran in a suspend, says itself that something changed.
      const moved = confirmed ?? (hasJumped(last, sent) ? measured : undefined);
      known = agreed ?? moved ?? before;
      doubt = agreed || moved ? undefined : measured;
      last = received;
    },

    skewMs() {
      const { lower, upper } = offsets(known);
      if (upper < 0) return -upper;
      return lower > 0 ? -lower : 0;
    },

    offsetMs() {
      const offset = correctionOf(offsets(known));
      if (!doubt) return offset;
      const doubted = correctionOf(offsets(doubt));
      return doubted < offset - outlierMs ? offset : Math.min(offset, doubted);
    },
  };
}

/** The bounds of the store's clock less the monotonic one, which a step of the wall clock keeps. */
const faded = ({ lower, upper }: Bounds, passedMs: Milliseconds): Bounds => ({
  lower: lower - driftRate * passedMs,
  upper: upper + driftRate * passedMs,
});

/** The range that both bounds allow; undefined if they contradict each other. */
function common(one: Bounds, other: Bounds): Bounds | undefined {
  const lower = Math.max(one.lower, other.lower);
  const upper = Math.min(one.upper, other.upper);
  return lower <= upper ? { lower, upper } : undefined;
}

/** The correction of the wall clock that follows from these bounds; docs/decisions/0016. */
const correctionOf = ({ lower, upper }: Bounds): Milliseconds =>
  Math.floor(upper < -allowanceMs ? lower : Math.max(lower, -allowanceMs));

const leadOf = ({ wall, monotonic }: ClockReading): number => wall - monotonic;

const hasJumped = (before: ClockReading, after: ClockReading): boolean =>
  leadOf(after) - leadOf(before) > jumpMs;
