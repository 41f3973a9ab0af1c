/** Lists of holds. */

import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { AccountName } from "../../points/ports/points.ts";
import type { EventKey } from "../../points/rules/ledger.ts";
import { reservationShardsOf, type ShardedProgram } from "../../points/rules/program.ts";
import type { Hold } from "../rules/hold.ts";

/**
 * The number of shards of the holds of a program that are HELD, by that of its reservations. They
 * are fewer, because the sweeps of workers read all of them; the least number takes 2,000 holds a
 * second.
 */
export const heldShardsOf = (program: Partial<ShardedProgram>): number =>
  reservationShardsOf(program) / 4;

export interface HoldReader {
  /** The keys of all captures of a hold, in no order. */
  capturesOf(hold: Hold): Promise<readonly EventKey[]>;
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
