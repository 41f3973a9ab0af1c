/** Due reservations and holds: their names, the hours in which they fall due, and run marks. */
import type { CallLimits } from "../../platform/ports/call.ts";
import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";

/** Names a reservation. */
export interface ReservationName {
  readonly programId: string;
  readonly reservationId: string;
}

/** Names a hold. */
export interface HoldName {
  readonly programId: string;
  readonly holdId: string;
}

/** Names a reservation or a hold. */
export type RecordName = ReservationName | HoldName;

/** The name of a record, without its other fields. */
export const nameOf = (record: RecordName): RecordName =>
  "holdId" in record
    ? { programId: record.programId, holdId: record.holdId }
    : { programId: record.programId, reservationId: record.reservationId };

/**
 * A reservation whose run may not know the written change, or a hold about which Temporal has not
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
   * Writes the hour in which a record falls due, before the record is written, so that the sweeps
   * of workers know which programs to read. A record that is due already falls into the current
   * hour. Throws STORE_UNAVAILABLE.
   */
  mark(programId: string, time: Instant, call: CallLimits | undefined): Promise<void>;
}

export interface DueReader {
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

/** The shards of the pending starts of all programs: 64,000 creations a second. */
export const markShardCount = 128;
