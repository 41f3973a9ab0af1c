/** The census of active bulk grants, which a worker reports as metrics. */
import type { WaitingForPeople } from "../../platform/ports/waiting.ts";

/** The active bulk grants of all programs. */
export interface BulkGrantCensus {
  /** By state, or PAUSED; each of these is there. */
  readonly byState: ReadonlyMap<string, number>;
  /** Those that await approval, since they were submitted. */
  readonly waiting: WaitingForPeople;
}
