/** Lists of reservations. */

import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { AccountName } from "../../points/ports/points.ts";
import type { ShardedProgram } from "../../points/rules/program.ts";
import type { OpenState, Reservation } from "../rules/reservation.ts";

/** Which reservations to list: those due in the window and, if given, with such a reason. */
export interface ReservationFilter extends Window {
  /** The prefix of the reason. Absent or empty for any reason. */
  readonly reasonPrefix?: string;
}

/**
 * Each call reads a bounded number of records: with a `reasonPrefix` a page may be short, or even
 * empty, although it has a cursor.
 */
export interface ReservationReader {
  /** Lists a user's reservations in all states by execute time. Lags behind by moments. */
  reservationsOfUser(
    name: AccountName,
    filter: ReservationFilter,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** Lists a user's reservations in a state by execute time. Lags behind by moments. */
  reservationsOfUserInState(
    name: AccountName,
    state: Reservation["state"],
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** Lists by execute time, merged from all shards. Lags behind by moments. */
  reservationsInState(
    program: ShardedProgram,
    state: OpenState,
    filter: ReservationFilter,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /**
   * Lists the PENDING ones of one of the shards of a program by execute time. Lags behind by
   * moments.
   */
  pendingInShard(
    programId: string,
    shard: number,
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
}
