/** Random variation of times, so that what begins together does not stay in step. */
import type { Milliseconds } from "../words/units.ts";

/** Returns a random time between `ms` less `share` of it and `ms` plus `share` of it. */
export const withJitter = (ms: Milliseconds, share: number): number =>
  ms * (1 - share + 2 * share * Math.random());
