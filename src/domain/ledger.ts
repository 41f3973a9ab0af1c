import type { Instant, Month } from "./month.ts";

export type EntryType =
  | "ISSUED"
  | "USED"
  | "EXPIRED"
  | "REFUNDED"
  | "REVOKED"
  | "FROZEN"
  | "UNFROZEN";

/** Who chose an event id: the caller, a reservation, a bulk grant, or the month's end. */
export type Origin = "c" | "r" | "b" | "x";

/** An event of one account: the id is unique in the account together with its origin. */
export interface EventRef {
  readonly origin: Origin;
  readonly eventId: string;
}

export interface MonthChange {
  readonly month: Month;
  /** Signed. */
  readonly points: number;
}

/** Sums over the whole life of an account. */
export interface Totals {
  readonly issued: number;
  readonly used: number;
  readonly expired: number;
  readonly refunded: number;
  readonly revoked: number;
}

/**
 * One immutable event of an account, numbered from 1 without gaps. Everything that replay needs
 * stands in `changes`, `total` and `frozen`, so that a new type needs no new replay.
 */
export interface LedgerEntry {
  readonly number: number;
  readonly type: EntryType;
  readonly event: EventRef;
  /** When it was recorded; never goes back within an account. */
  readonly createTime: Instant;
  /** `createTime`, but for an expiry the instant at which the points expired. */
  readonly effectiveTime: Instant;
  /** How many points it is about; never negative. */
  readonly points: number;
  /** Oldest month first. */
  readonly changes: readonly MonthChange[];
  /** The total that `points` adds to, if any. */
  readonly total?: keyof Totals;
  /** Whether the account is frozen after it. */
  readonly frozen: boolean;
  /** Available points after it. */
  readonly balance: number;
  readonly reason: string;
  /** The service that called. */
  readonly caller: string;
  /** For an issue: when its points expire, as known when it was written. */
  readonly expireTime?: Instant;
  /** The use that a refund undoes, the grant that a revoke takes back. */
  readonly relatedEvent?: EventRef;
}

/** What an event writes into the ledger; number, times, flag and balance follow from where. */
export type NewEntry = Omit<
  LedgerEntry,
  "number" | "createTime" | "effectiveTime" | "frozen" | "balance"
> & { readonly effectiveTime?: Instant; readonly frozen?: boolean };

/**
 * What makes an event id count once: the hash of its first request, the entry that it wrote, and
 * how much of that entry has been undone (refunded of a use, revoked of a grant).
 */
export interface EventKey {
  readonly hash: string;
  readonly entry: LedgerEntry;
  /** The balance after everything that the event did. */
  readonly balance: number;
  readonly reversedPoints: number;
}

/** The name of an event in its account: origin and id, as in `c:order-17`. */
export const eventName = ({ origin, eventId }: EventRef): string => `${origin}:${eventId}`;
