/** Lists of holds. */
import type { Hold, HoldState } from "../../domain/hold.ts";
import type { Page, PageRequest, Window } from "./pages.ts";
import type { AccountName } from "./points.ts";

/** Names a hold. */
export interface HoldName {
  readonly programId: string;
  readonly holdId: string;
}

export interface HoldReader {
  /**
   * Lists an account's holds, latest `until` first. Reads about as many for a page with a state as
   * without, so that it may be short, or even empty, although it has a cursor. Lags behind by
   * moments.
   */
  holdsOfUser(
    name: AccountName,
    state: HoldState | undefined,
    page: PageRequest,
  ): Promise<Page<Hold>>;
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
