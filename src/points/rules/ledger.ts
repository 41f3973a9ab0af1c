/** The ledger: immutable entries, the events that write them, and the keys of these events. */
import type { Annotations } from "../../platform/words/annotations.ts";
import type { Caller } from "../../platform/words/caller.ts";
import type { Instant, Month } from "../../platform/words/month.ts";
import type { Milliseconds, Points } from "../../platform/words/units.ts";

/**
 * One immutable event of an account. Entries are numbered from 1 without gaps. `changes`, `total`
 * and `frozen` contain everything that `rebuildFromLedger` needs, so that a new type of entry needs
 * no new code there.
 */
export interface LedgerEntry extends Annotations {
  readonly number: number;
  readonly type: EntryType;
  readonly event: EventName;
  /** When the entry was recorded. Never earlier than the entry before it. */
  readonly createTime: Instant;
  /** The same as `createTime`; of an expiry, the instant at which the points expired. */
  readonly effectiveTime: Instant;
  /** The number of points that the event concerns; never negative. */
  readonly points: Points;
  /** Oldest month first. */
  readonly changes: readonly MonthChange[];
  /** The total to which `points` are added, if any. */
  readonly total?: keyof Totals;
  /** Whether the account is frozen after this entry. */
  readonly frozen: boolean;
  /** The points of the account after this entry. */
  readonly availablePoints: number;
  readonly caller: Caller;
  /** Of an issue or an extension: when its points expire, as computed when it was written. */
  readonly expireTime?: Instant;
  /**
   * The use that a refund reverses, the grant that a revoke reverses or an extension moves, or the
   * hold of its end.
   */
  readonly relatedEvent?: EventName;
  /** Present in some entries only: the account after this entry, for reads of the past. */
  readonly snapshot?: Snapshot;
}

/** The sums of the entries up to one of them. */
export interface Snapshot {
  /** The points by month of grant, oldest first, without months of 0 points. */
  readonly months: readonly MonthChange[];
  readonly totals: Totals;
}

export type EntryType =
  | "ISSUED"
  | "USED"
  | "EXPIRED"
  | "REFUNDED"
  | "REVOKED"
  | "FROZEN"
  | "UNFROZEN"
  | "EXTENDED"
  | "HELD"
  | "CAPTURED"
  | "RELEASED";

/**
 * After this time no entry at or before an instant can be added any more. A decision is sent within
 * 5 s, or never. What was sent may be on its way for as long as the store accepts its signature:
 * AWS documents five minutes, and 15 are assumed. Each clock is off by up to 5 s.
 */
export const lateEntriesMs: Milliseconds = 16 * 60_000;

/** The name of an event of one account. Origin and id together are unique in the account. */
export interface EventName {
  readonly origin: Origin;
  readonly eventId: string;
}

/**
 * The origin of an event id: `c` the caller, `r` a reservation, `b` a bulk grant, `h` a hold, `x` a
 * month end.
 */
export type Origin = "c" | "r" | "b" | "h" | "x";

export interface MonthChange {
  readonly month: Month;
  /** Signed. */
  readonly points: Points;
}

/** Sums over the whole life of an account. */
export interface Totals {
  readonly issuedPoints: Points;
  readonly usedPoints: Points;
  readonly expiredPoints: Points;
  readonly refundedPoints: Points;
  readonly revokedPoints: Points;
  /** All points that holds have taken. What is held now is less by the next two. */
  readonly heldPoints: Points;
  readonly capturedPoints: Points;
  readonly releasedPoints: Points;
}

/** The totals of an account without entries. */
export const noTotals: Totals = {
  issuedPoints: 0,
  usedPoints: 0,
  expiredPoints: 0,
  refundedPoints: 0,
  revokedPoints: 0,
  heldPoints: 0,
  capturedPoints: 0,
  releasedPoints: 0,
};

/** The points that holds have taken and that are neither captured nor released. */
export const heldNow = ({ heldPoints, capturedPoints, releasedPoints }: Totals): Points =>
  heldPoints - capturedPoints - releasedPoints;

/** An entry before `appendEntry` derives its number, times, frozen flag and available points. */
export type NewEntry = Omit<
  LedgerEntry,
  "number" | "createTime" | "effectiveTime" | "frozen" | "availablePoints"
> & { readonly effectiveTime?: Instant; readonly frozen?: boolean };

/** The record of an event id, which makes the event idempotent. */
export interface EventKey {
  /** The hash of the first request with this event id; of a rebuilt key, all that it can be. */
  readonly hash: string;
  /** The entry that this request wrote. */
  readonly entry: LedgerEntry;
  /** The points of the account after all entries of the event. */
  readonly availablePoints: number;
  /** The points of the entry that refunds, revokes or extensions have taken from it so far. */
  readonly reversedPoints: Points;
  /**
   * Of a capture only: the points of its hold that earlier captures have taken. The months of its
   * points follow from them and from the months of the hold.
   */
  readonly earlierPoints?: Points | undefined;
}

/** Returns the text by which records name an event: origin and id, as in `c:order-17`. */
export const eventName = ({ origin, eventId }: EventName): string => `${origin}:${eventId}`;

/** Returns the event of a text as `eventName` makes it. */
export const parseEventName = (name: string): EventName => ({
  origin: name[0] as Origin,
  eventId: name.slice(2),
});
