/** Lists of reservations. */

import type { HoldName } from "../../holds/ports/holds.ts";
import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { AccountName } from "../../points/ports/points.ts";
import type { Reservation } from "../rules/reservation.ts";

/** Names a reservation. */
export interface ReservationName {
  readonly programId: string;
  readonly reservationId: string;
}

/** Names a reservation or a hold. */
export type RecordName = ReservationName | HoldName;

/**
 * A reservation whose run may not know what was written, or a hold about which Temporal has not
 * answered. The mark of a reservation is written before it. Marks are deleted after the call to
 * Temporal, so that one that is lost with its process is found.
 */
export type PendingStart = RecordName & {
  /** When the reservation was about to be written, or Temporal did not answer. */
  readonly time: Instant;
};

/** An hour in which reservations or holds of a program fall due. */
export interface DueHour {
  readonly programId: string;
  /** Its first instant, a whole hour in UTC. */
  readonly hour: Instant;
}

/** The due hours that this process has written. */
export interface DueHours {
  /**
   * Writes the hour in which something falls due, before that is written, so that the sweeps of
   * workers know of which programs to read it. What is due already falls into the current hour.
   * `deadline` is that of the caller, in `performance.now()` milliseconds. Throws
   * STORE_UNAVAILABLE.
   */
  mark(programId: string, time: Instant, deadline: number | undefined): Promise<void>;
}

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
  /**
   * Lists the PENDING ones of one of the `shardCount` shards of a program by execute time. Lags
   * behind by moments.
   */
  pendingInShard(
    programId: string,
    shard: number,
    window: Window,
    page: PageRequest,
  ): Promise<Page<Reservation>>;
  /** Lists the pending starts of a shard, of all programs. Lags behind by moments. */
  pendingStarts(shard: number, page: PageRequest): Promise<Page<PendingStart>>;
  /**
   * Lists the due hours of a shard, of all programs, that have begun at `until`, by time. Lags
   * behind by moments.
   */
  dueHours(shard: number, until: Instant, page: PageRequest): Promise<Page<DueHour>>;
}

/** The shards of the due hours, by program. */
export const dueHourShardCount = 16;

/** The shards of the pending starts of all programs: 16,000 creations a second. */
export const markShardCount = 32;
