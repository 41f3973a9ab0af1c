/** The census of active bulk grants, which a worker reports as metrics. */
import type { Milliseconds } from "../../platform/words/units.ts";

/** The active bulk grants of all programs. */
export interface BulkGrantCensus {
  /** By state, or PAUSED; each of these is there. */
  readonly byState: ReadonlyMap<string, number>;
  /** How long ago the oldest one that awaits approval was submitted; 0 when none does. */
  readonly oldestWaitingMs: Milliseconds;
}
