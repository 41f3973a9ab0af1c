/** The clocks of this process, and how old something is that was read at a moment. */
import type { Milliseconds } from "../words/units.ts";

/** One moment by both clocks of this machine, in ms. */
export interface ClockReading {
  /** `Date.now()`, which is stepped when somebody sets the clock. */
  readonly wall: number;
  /** `performance.now()`, which is never stepped, but stops while the machine is suspended. */
  readonly monotonic: number;
}

export const readClocks = (): ClockReading => ({ wall: Date.now(), monotonic: performance.now() });

/**
 * The time since a moment: the greater one by the two clocks. A wall clock that was set back may
 * hide that the machine was suspended, so its difference counts in both directions.
 */
export const ageOf = ({ wall, monotonic }: ClockReading): Milliseconds =>
  Math.max(performance.now() - monotonic, Math.abs(Date.now() - wall));
