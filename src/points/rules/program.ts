/** Points programs: time zone, lifetimes, pauses and notices. */
import type { Caller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant, Month } from "../../platform/words/month.ts";
import { monthAt } from "../../platform/words/month.ts";
import { type BalanceLimits, inOrder, isSameLimits, noLimits } from "./balance-limits.ts";
import { lateEntriesMs } from "./ledger.ts";

/** A points program. */
export interface Program {
  readonly programId: string;
  /** Never changes. */
  readonly timeZone: string;
  /** The history of lifetimes, oldest first. Each is longer than the one before. */
  readonly lifetimes: readonly LifetimeChange[];
  readonly createTime: Instant;
  /** Present while no reservation of the program may be granted. */
  readonly reservationPause?: ReservationPause;
  /** When the last pause ended; absent when there was none. */
  readonly resumeTime?: Instant;
  /** Present while the program notifies its members of something. */
  readonly notices?: ProgramNotices;
  /** The limits whose crossings are events; absent for none. */
  readonly balanceLimits?: BalanceLimits;
  /** Absent for the least number of shards. */
  readonly reservationShardCount?: number | undefined;
  /** The latest month end whose sweep was whole; absent before the first one. */
  readonly monthEnd?: MonthEnd;
}

/** A month end whose sweep has come to all accounts. */
export interface MonthEnd {
  /** The month that has ended. */
  readonly month: Month;
  /** How many accounts have failed in the last sweep. */
  readonly failedCount: number;
}

/** The notifications that a program sends to its members. */
export interface ProgramNotices {
  /** How many days before points expire their owner is notified: 1 to 27, or 0 for never. */
  readonly expiryDays: number;
  /** Whether a user is notified of each reserved grant. */
  readonly reservedGrants: boolean;
}

/** Who paused the reservations of a program, when and why; the reason may be empty. */
export interface ReservationPause {
  readonly time: Instant;
  readonly caller: Caller;
  readonly reason: string;
}

/** A lifetime and the instant at which it takes effect. */
export interface LifetimeChange {
  readonly lifetimeMonths: number;
  readonly effectiveTime: Instant;
}

/**
 * A program by its id, and the number of shards of its reservations. Records have the number that
 * their program had when they were made.
 */
export type ShardedProgram = Pick<Program, "programId" | "reservationShardCount">;

/** The numbers of shards that the reservations of a program which have not ended can have. */
export const reservationShardCounts = [16, 64, 256] as const;
export const [leastReservationShards] = reservationShardCounts;

export const defaultTimeZone = "Asia/Tokyo";
export const defaultLifetimeMonths = 12;
export const maxLifetimeMonths = 36;

/**
 * A lengthening takes effect this long after its decision: by then the network has delivered the
 * write, and two minutes later every server has refreshed its copy of the program. Nothing is
 * decided by the old lifetime at an instant at which the new one is in effect.
 */
export const lengtheningDelayMs = lateEntriesMs + 120_000;

/**
 * A grant of a reservation is decided by a copy of the program that was read this long ago at most.
 * With the 5 s for which the engine sends a transaction and the 3 s of a request, nothing is
 * granted from 10 s after a pause on, as the contract says.
 */
export const pauseReadMs = 2_000;

/**
 * Returns the program with its lifetime lengthened, or the same program if it has this lifetime
 * already.
 */
export function lengthen(program: Program, lifetimeMonths: number, now: Instant): Program {
  const latest = newestLifetime(program);
  if (lifetimeMonths === latest.lifetimeMonths) return program;
  const effectiveTime = Math.max(now + lengtheningDelayMs, latest.effectiveTime);
  return { ...program, lifetimes: [...program.lifetimes, { lifetimeMonths, effectiveTime }] };
}

/** Pauses the reservations of a program. A paused program does not change. */
export function pauseReservations(program: Program, pause: ReservationPause): Program {
  return program.reservationPause ? program : { ...program, reservationPause: pause };
}

/**
 * When a pause is final: no reservation is granted from then on. The network may hold the write of
 * the pause as long as any other, and processes decide grants until it is stored.
 */
export const finalTimeOf = ({ time }: ReservationPause): Instant =>
  time + 2 * lateEntriesMs + 60_000;

/** Ends the pause of a program's reservations. A program without one does not change. */
export function resumeReservations(program: Program, now: Instant): Program {
  const { reservationPause, ...rest } = program;
  return reservationPause ? { ...rest, resumeTime: now } : program;
}

/**
 * Sets what the program notifies its members of. Notices of nothing are stored as no notices. A
 * program that has these notices already does not change.
 */
export function setNotices(program: Program, notices: ProgramNotices): Program {
  const { notices: _, ...rest } = program;
  const before = noticesOf(program);
  const { expiryDays, reservedGrants } = notices;
  if (expiryDays === before.expiryDays && reservedGrants === before.reservedGrants) return program;
  return expiryDays > 0 || reservedGrants
    ? { ...rest, notices: { expiryDays, reservedGrants } }
    : rest;
}

/**
 * Sets the limits whose crossings are events. No limits are stored as none. A program that has
 * these limits already does not change.
 */
export function setBalanceLimits(program: Program, balanceLimits: BalanceLimits): Program {
  const { balanceLimits: before = noLimits, ...rest } = program;
  const limits = inOrder(balanceLimits);
  if (isSameLimits(limits, before)) return program;
  return isSameLimits(limits, noLimits) ? rest : { ...rest, balanceLimits: limits };
}

export const noticesOf = ({ notices }: Pick<Program, "notices">): ProgramNotices =>
  notices ?? { expiryDays: 0, reservedGrants: false };

/**
 * Returns the number of shards of reservations. That of a record is no larger than that of its
 * program: whoever reads the program, then all its shards, meets each record.
 */
export const reservationShardsOf = ({ reservationShardCount }: Partial<ShardedProgram>): number =>
  reservationShardCount ?? leastReservationShards;

/**
 * Raises the number of shards of reservations. A program that has this number does not change.
 * Throws WRONG_STATE for a lower one, because records may be in the shards above it.
 */
export function addShards(program: Program, reservationShardCount: number): Program {
  const before = reservationShardsOf(program);
  if (reservationShardCount === before) return program;
  if (reservationShardCount < before) {
    throw new DomainError("WRONG_STATE", "the number of shards can be raised, never lowered", {
      reservation_shard_count: String(before),
    });
  }
  return { ...program, reservationShardCount };
}

/**
 * Keeps the outcome of a sweep. A repeated one replaces that of its month; one that ends after the
 * sweep of a later month changes nothing.
 */
export function withMonthEnd(program: Program, monthEnd: MonthEnd): Program {
  const { monthEnd: before } = program;
  if (before && before.month > monthEnd.month) return program;
  const isSame = before?.month === monthEnd.month && before.failedCount === monthEnd.failedCount;
  return isSame ? program : { ...program, monthEnd };
}

/** Returns how many months have ended since the creation of the program without a whole sweep. */
export function monthsBehind({ timeZone, createTime, monthEnd }: Program, now: Instant): number {
  const swept = monthEnd?.month ?? monthAt(timeZone, createTime) - 1;
  return Math.max(0, monthAt(timeZone, now) - 1 - swept);
}

/** The values of a program that people change, by the names of their fields, for its acts. */
export const changeableValues = (program: Program) => ({
  time_zone: program.timeZone,
  lifetime_months: newestLifetime(program).lifetimeMonths,
  expiry_notice_days: program.notices?.expiryDays ?? 0,
  reserved_grant_notices: program.notices?.reservedGrants ?? false,
  balance_limits_below: program.balanceLimits?.below,
  balance_limits_above: program.balanceLimits?.above,
  reservation_shard_count: reservationShardsOf(program),
  reservations_paused: program.reservationPause !== undefined,
});

/** The lifetime that was set last. It may not be in effect yet. */
export const newestLifetime = ({ lifetimes }: Pick<Program, "lifetimes">): LifetimeChange =>
  lifetimes.at(-1) as LifetimeChange;
