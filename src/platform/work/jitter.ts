/** Times with a random variation, so that what begins together does not stay in step. */
import type { Milliseconds } from "../words/units.ts";

/** Returns a random time between `ms` less `share` of it and `ms` plus `share` of it. */
export const withJitter = (ms: Milliseconds, share: number): number =>
  ms * (1 - share + 2 * share * Math.random());

interface RetryDelays {
  readonly firstMs: Milliseconds;
  readonly longestMs: Milliseconds;
}

/** The delay after so many failures in a row. Each one is twice as long as the one before. */
export const retryDelay = (
  failures: number,
  { firstMs, longestMs }: RetryDelays = { firstMs: 250, longestMs: 30_000 },
): number => withJitter(Math.min(longestMs, firstMs * 2 ** (failures - 1)), 0.2);
