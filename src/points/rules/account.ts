/** The account: a ring of monthly buckets, when they expire, and how entries change it. */
import { noCaller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant, Month } from "../../platform/words/month.ts";
import { formatMonth, monthAt, monthStart } from "../../platform/words/month.ts";
import type { Points } from "../../platform/words/units.ts";
import { type LedgerEntry, type NewEntry, noTotals, type Totals } from "./ledger.ts";
import type { LifetimeChange, Program } from "./program.ts";

/**
 * The points of one user in one program: a ring of monthly buckets. The slot of a month is
 * `month mod lifetime`. The pointer is the slot of `month`, so it is not stored.
 */
export interface Account {
  readonly programId: string;
  readonly userId: string;
  /** The current month, whose bucket takes grants. It never goes back. */
  readonly month: Month;
  /** Points per slot. The length is the lifetime. */
  readonly slots: readonly number[];
  readonly totals: Totals;
  readonly frozen: boolean;
  /** The number of the last ledger entry; 0 before the first. */
  readonly last: number;
  /** The latest time of a decision on this account. It never goes back. */
  readonly time: Instant;
  /**
   * A lower bound of the oldest month with points, by which the month-end sweep finds the account.
   * Absent before the first points.
   */
  readonly oldest?: Month;
}

/** A month with points in an account. */
export interface Bucket {
  readonly month: Month;
  readonly points: Points;
}

/** Returns an account without entries, at the month and lifetime of `now`. */
export function emptyAccount(program: Program, userId: string, now: Instant): Account {
  return {
    programId: program.programId,
    userId,
    month: monthAt(program.timeZone, now),
    slots: Array<number>(lifetimeAt(program, now)).fill(0),
    totals: noTotals,
    frozen: false,
    last: 0,
    time: now,
  };
}

/** An account and the ledger entries that were written to reach it. */
interface ExpireDueResult {
  readonly account: Account;
  readonly entries: readonly LedgerEntry[];
}

/**
 * Rotates the ring to `now`, over any number of months: writes one EXPIRED entry for each month
 * whose points have expired, oldest first, and lays the ring out again when the lifetime has grown.
 * The ring never rotates back, neither when the clock runs back nor on a server whose zone data
 * begin the month later. Returns the same account when nothing changes. Throws PROGRAM_STALE when
 * the ring is longer than the program's lifetime, and a TypeError for a damaged account, so that
 * only a repair changes it.
 */
export function expireDue(account: Account, program: Program, now: Instant): ExpireDueResult {
  if (isDamaged(account)) throw new TypeError("the stored account is damaged");
  const time = Math.max(now, account.time);
  const month = Math.max(monthAt(program.timeZone, time), account.month);
  const lifetime = lifetimeAt(program, time);
  if (month === account.month && lifetime === account.slots.length) {
    return { account, entries: [] };
  }
  if (lifetime < account.slots.length) {
    throw new DomainError("PROGRAM_STALE", "this server's copy of the program is out of date");
  }
  const entries: LedgerEntry[] = [];
  let current = account;
  for (const bucket of buckets(account)) {
    const effectiveTime = expireTime(program, bucket.month, account.time);
    if (effectiveTime > time) continue;
    const isFirst = effectiveTime === firstExpireTime(program, bucket.month);
    const suffix = isFirst ? "" : `/${formatMonth(monthAt(program.timeZone, effectiveTime) - 1)}`;
    const appended = appendEntry(current, time, expiredEntry(bucket, effectiveTime, suffix));
    current = appended.account;
    entries.push(appended.entry);
  }
  const slots = Array<number>(lifetime).fill(0);
  for (const bucket of buckets(current)) slots[slotOf(bucket.month, lifetime)] = bucket.points;
  return { account: { ...current, month, slots, time }, entries };
}

/** Whether a stored attribute of the account was missing or of another type. */
export const isDamaged = ({ month, slots, totals, last, time }: Account): boolean =>
  Number.isNaN(month + last + time + (slots[0] ?? 0) + totals.issuedPoints);

/**
 * The EXPIRED entry of a month's points. `suffix` distinguishes the event id from that of the first
 * end of the month: of an expiry that follows a refund or a release, and of points that end early
 * in a month whose points had expired before a lengthening.
 */
export function expiredEntry(bucket: Bucket, effectiveTime: Instant, suffix = ""): NewEntry {
  return {
    type: "EXPIRED",
    event: { origin: "x", eventId: formatMonth(bucket.month) + suffix },
    effectiveTime,
    points: bucket.points,
    changes: [{ month: bucket.month, points: -bucket.points }],
    total: "expiredPoints",
    reason: "",
    caller: noCaller,
  };
}

/**
 * Appends one entry. Only this function changes buckets, totals, frozen flag and last number. A
 * month that the ring no longer holds shares its slot with another month, so changes of such a
 * month must add up to zero before the account is read. Only a refund or a release of expired
 * points has them.
 */
export function appendEntry(
  account: Account,
  now: Instant,
  newEntry: NewEntry,
): { account: Account; entry: LedgerEntry } {
  const time = Math.max(now, account.time);
  const slots = [...account.slots];
  for (const { month, points } of newEntry.changes) {
    const slot = slotOf(month, slots.length);
    slots[slot] = (slots[slot] as number) + points;
  }
  const { total } = newEntry;
  const totals = total
    ? { ...account.totals, [total]: account.totals[total] + newEntry.points }
    : account.totals;
  const changed: Account = {
    ...account,
    slots,
    totals,
    frozen: newEntry.frozen ?? account.frozen,
    last: account.last + 1,
    time,
  };
  const entry: LedgerEntry = {
    ...newEntry,
    number: changed.last,
    createTime: time,
    effectiveTime: newEntry.effectiveTime ?? time,
    frozen: changed.frozen,
    availablePoints: availablePointsOf(changed),
  };
  return { account: changed, entry };
}

/**
 * Returns all points of the ring. They are available only after `expireDue`: points that
 * are due count until they are expired.
 */
export function availablePointsOf(account: Account): number {
  let sum = 0;
  for (const points of account.slots) sum += points;
  return sum;
}

/** Returns the buckets with points, oldest first: from the slot after the pointer, round to it. */
export function buckets(account: Account): Bucket[] {
  const lifetime = account.slots.length;
  const found: Bucket[] = [];
  for (let month = account.month - lifetime + 1; month <= account.month; month++) {
    const points = account.slots[slotOf(month, lifetime)] as number;
    if (points !== 0) found.push({ month, points });
  }
  return found;
}

/** Returns the points in the bucket of `month`; 0 when the ring does not hold that month. */
export function pointsOf(account: Account, month: Month): number {
  const lifetime = account.slots.length;
  if (month > account.month || month <= account.month - lifetime) return 0;
  return account.slots[slotOf(month, lifetime)] as number;
}

/** Returns the slot of a month in a ring of `lifetime` months. */
export function slotOf(month: Month, lifetime: number): number {
  return month % lifetime;
}

/** Returns the lifetime in months that is in effect at `now`. */
export function lifetimeAt({ lifetimes }: Program, now: Instant): number {
  return (lifetimes[indexAt(lifetimes, now)] as LifetimeChange).lifetimeMonths;
}

/**
 * Returns the instant at which points expire that were in the bucket of `month` at `since`: the
 * first instant of month + lifetime in the program's zone. A lengthening moves this instant for
 * points that have not expired when it takes effect. Points that expire at the very instant of the
 * change stay expired. The bucket of their month may take points again since, which end earlier
 * than the lengthened lifetime, so `since` says which of them are meant.
 */
export function expireTime(program: Program, month: Month, since: Instant): Instant {
  const { lifetimes, timeZone } = program;
  for (let i = indexAt(lifetimes, since); ; i++) {
    const expire = monthStart(timeZone, month + (lifetimes[i] as LifetimeChange).lifetimeMonths);
    const next = lifetimes[i + 1];
    if (!next || expire <= next.effectiveTime) return expire;
  }
}

/** When the points expire that were granted in `month` itself. */
export const firstExpireTime = (program: Program, month: Month): Instant =>
  expireTime(program, month, Number.NEGATIVE_INFINITY);

/**
 * Returns the latest month whose points have expired at `now`; those of all earlier months have
 * expired, too, but for points that end early and were granted since. After a lengthening this is a
 * later month than month − lifetime, until the months between them have passed.
 */
export function expiredMonth(program: Program, now: Instant): Month {
  let month = monthAt(program.timeZone, now) - firstLifetime(program);
  while (firstExpireTime(program, month) > now) month -= 1;
  return month;
}

/** The index of the lifetime in effect at `now`. */
const indexAt = (lifetimes: Program["lifetimes"], now: Instant): number =>
  Math.max(
    lifetimes.findLastIndex(({ effectiveTime }) => effectiveTime <= now),
    0,
  );

const firstLifetime = ({ lifetimes }: Program): number =>
  (lifetimes[0] as LifetimeChange).lifetimeMonths;
