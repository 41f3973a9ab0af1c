/** What waits for a decision of people, which a worker reports as metrics. */
import type { Milliseconds } from "../words/units.ts";

/** The records of one kind that wait, of all programs. */
export interface WaitingForPeople {
  readonly count: number;
  /** For how long the oldest one has waited; 0 when none does. */
  readonly oldestMs: Milliseconds;
}

/** Sums up the records that wait, each since an instant. */
export const waitingSince = (instants: readonly number[], now: number): WaitingForPeople => ({
  count: instants.length,
  oldestMs: Math.max(0, ...instants.map((instant) => now - instant)),
});
