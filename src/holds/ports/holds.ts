/** Lists of holds. */

import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { AccountName } from "../../points/ports/points.ts";
import type { Hold } from "../rules/hold.ts";

/**
 * The shards of the holds that are HELD. They are fewer than those of other records, because the
 * sweeps of workers read all of them; these take 2,000 holds of a program a second.
 */
export const heldShardCount = 4;

export interface HoldReader {
  /** Lists an account's holds, latest `until` first. Lags behind by moments. */
  holdsOfUser(name: AccountName, page: PageRequest): Promise<Page<Hold>>;
  /** The cursor of the page of `holdsOfUser` that begins after a hold. */
  cursorOfHoldsAfter(hold: Hold): string;
  /**
   * Lists the HELD ones of one shard of a program whose `until` is in the window, in its order.
   * Lags behind by moments.
   */
  heldInShard(
    programId: string,
    shard: number,
    window: Window,
    page: PageRequest,
  ): Promise<Page<Hold>>;
}
