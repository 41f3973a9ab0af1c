/** Lists of reservations. */
import type { Instant } from "../../domain/month.ts";
import type { Reservation } from "../../domain/reservation.ts";
import type { HoldName } from "./holds.ts";
import type { Page, PageRequest, Window } from "./pages.ts";
import type { AccountName } from "./points.ts";

/** Names a reservation. */
export interface ReservationName {
  readonly programId: string;
  readonly reservationId: string;
}

/** Names a reservation or a hold. */
export type RecordName = ReservationName | HoldName;

/**
 * A reservation whose first run may not have been started yet, or a hold whose run Temporal has not
 * answered. The mark of a reservation is written before it. Marks are deleted after the call to
 * Temporal, so that one that is lost with its process is found.
 */
export type PendingStart = RecordName & {
  /** When the reservation was about to be written, or Temporal did not answer. */
  readonly time: Instant;
};

/** Which reservations to list: those due in the window and, if given, with such a reason. */
export interface ReservationFilter extends Window {
  /** What the reason begins with. Absent or empty for any reason. */
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
  /**
   * Lists a user's reservations in a state by execute time. With PENDING, it may have ended ones,
   * which an earlier version has written. Lags behind by moments.
   */
  reservationsOfUserInState(
    name: AccountName,
    state: Reservation["state"],
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** Lists by execute time, merged from all shards. Lags behind by moments. */
  reservationsInState(
    programId: string,
    state: Reservation["state"],
    filter: ReservationFilter,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** Lists the records of one shard of a state by execute time. Lags behind by moments. */
  reservationsInShard(
    shard: ReservationShard,
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** Lists the pending starts of one shard of a program. Lags behind by moments. */
  pendingStarts(programId: string, shard: number, page: PageRequest): Promise<Page<PendingStart>>;
}

/** A part of the index by state, in which records that are not synced are apart from the others. */
export interface ReservationShard {
  readonly programId: string;
  readonly state: Reservation["state"];
  readonly unsynced: boolean;
  /** 0 to `shardCount` - 1. */
  readonly shard: number;
}
