/** Estimates from the Date headers of responses how far the local clock is off the store's. */
import type { ClockSkew } from "../../../app/ports/clock.ts";

/** One moment by both clocks of this machine, in ms. */
export interface ClockReading {
  /** `Date.now()`, which is stepped when somebody sets the clock. */
  readonly wall: number;
  /** `performance.now()`, which is never stepped, but stops while the machine is suspended. */
  readonly monotonic: number;
}

export interface SkewEstimator extends ClockSkew {
  /**
   * Takes the Date header of a response, in ms, and the clocks when its request was sent and when
   * it was received.
   */
  observe(date: number, sent: ClockReading, received: ClockReading): void;
}

/** What the store's clock may show in addition to a local clock, in ms. */
interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

/** No faster does a clock drift whose frequency NTP adjusts (500 ppm). */
const driftRate = 0.0005;

/** A wall clock that gained more on the monotonic one was set forward, or had run in a suspend. */
const jumpMs = 1_000;

/** A synchronised clock may be ahead by so much without a proof; docs/decisions/0016. */
const allowanceMs = 10;

/** Creates an estimator that reads the clocks of this machine with `readClocks`. */
export function createSkewEstimator(readClocks: () => ClockReading): SkewEstimator {
  let known: Bounds | undefined;
  let last: ClockReading = readClocks();

  /** Bounds of the store's clock less the monotonic one, which a step of the wall clock keeps. */
  function boundsAt(monotonic: number): Bounds {
    const drift = driftRate * (monotonic - last.monotonic);
    const { lower, upper } = known ?? unknown;
    return { lower: lower - drift, upper: upper + drift };
  }

  /** Bounds of the store's clock less the wall clock, unknown from a jump to the next response. */
  function offsets(): Bounds {
    const now = readClocks();
    if (hasJumped(last, now)) return unknown;
    const { lower, upper } = boundsAt(now.monotonic);
    return { lower: lower - leadOf(now), upper: upper - leadOf(now) };
  }

  return {
    observe(date, sent, received) {
      if (hasJumped(sent, received)) return;
      // The store read its clock between both moments, in the second that starts at `date`.
      const measured = { lower: date - received.monotonic, upper: date + 1_000 - sent.monotonic };
      const before = boundsAt(received.monotonic);
      const lower = Math.max(before.lower, measured.lower);
      const upper = Math.min(before.upper, measured.upper);
      // Bounds that contradict each other: one of the clocks was set, or this machine suspended.
      known = lower <= upper ? { lower, upper } : measured;
      last = received;
    },

    skewMs() {
      const { lower, upper } = offsets();
      if (upper < 0) return -upper;
      return lower > 0 ? -lower : 0;
    },

    offsetMs() {
      const { lower, upper } = offsets();
      return Math.floor(upper < -allowanceMs ? lower : Math.max(lower, -allowanceMs));
    },
  };
}

const unknown: Bounds = { lower: Number.NEGATIVE_INFINITY, upper: Number.POSITIVE_INFINITY };

const leadOf = ({ wall, monotonic }: ClockReading): number => wall - monotonic;

const hasJumped = (before: ClockReading, after: ClockReading): boolean =>
  leadOf(after) - leadOf(before) > jumpMs;
