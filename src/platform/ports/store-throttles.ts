/** What the store has throttled since the process started. */
import type { TargetName } from "../words/target-name.ts";

export interface StoreThrottles {
  /** The number of throttled requests by the full name of the table. */
  readonly byTable: ReadonlyMap<string, number>;
  /**
   * The targets whose records were throttled, each with the number of its samples: one in ten of
   * all such requests. Only the 100 targets with the latest samples are kept.
   */
  readonly byTarget: readonly { readonly target: TargetName; readonly samples: number }[];
}
