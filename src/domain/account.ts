import { DomainError } from "./errors.ts";
import type { LedgerEntry, NewEntry, Totals } from "./ledger.ts";
import type { Instant, Month } from "./month.ts";
import { formatMonth, monthAt } from "./month.ts";
import type { Program } from "./program.ts";
import { expireTime, lifetimeAt } from "./program.ts";

/**
 * The points of one user in one program: a ring of monthly buckets. The slot of a month is
 * `month mod lifetime`; the pointer is the slot of `month`, so it is not stored.
 */
export interface Account {
  readonly programId: string;
  readonly userId: string;
  /** The current month, whose bucket takes grants; it never goes back. */
  readonly month: Month;
  /** Points per slot; its length is the lifetime. */
  readonly slots: readonly number[];
  readonly totals: Totals;
  readonly frozen: boolean;
  /** Number of the last ledger entry; 0 before the first. */
  readonly last: number;
  /** The latest time that this account was decided at; its time never goes back. */
  readonly time: Instant;
  /** A lower bound of the oldest month with points, for the sweep; absent before the first. */
  readonly oldest?: Month;
}

/** A month with points in an account. */
export interface Bucket {
  readonly month: Month;
  readonly points: number;
}

const noTotals: Totals = { issued: 0, used: 0, expired: 0, refunded: 0, revoked: 0 };

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

/** The slot of a month in a ring of `lifetime` months. */
export function slotOf(month: Month, lifetime: number): number {
  return month % lifetime;
}

/** The buckets with points, oldest first: from the one after the pointer round to the pointer. */
export function buckets(account: Account): Bucket[] {
  const lifetime = account.slots.length;
  const found: Bucket[] = [];
  for (let month = account.month - lifetime + 1; month <= account.month; month++) {
    const points = account.slots[slotOf(month, lifetime)] as number;
    if (points !== 0) found.push({ month, points });
  }
  return found;
}

/** All points of the ring. Settle first: it counts what should have expired, too. */
export function balanceOf(account: Account): number {
  let sum = 0;
  for (const points of account.slots) sum += points;
  return sum;
}

/** The points in the bucket of `month`; 0 when the ring does not hold that month. */
export function pointsOf(account: Account, month: Month): number {
  const lifetime = account.slots.length;
  if (month > account.month || month <= account.month - lifetime) return 0;
  return account.slots[slotOf(month, lifetime)] as number;
}

/** An account and the ledger entries that led to it from the one before. */
interface ExpireDueResult {
  readonly account: Account;
  readonly entries: readonly LedgerEntry[];
}

/**
 * Turns the ring to `now`, any number of months at once: one EXPIRED entry for each month whose
 * points have expired, oldest first, and the ring laid out anew when the lifetime has grown.
 * Neither a clock that has run back nor a server with other zone data, for which the month has not
 * begun yet, turns anything back. Returns the same account when nothing changes.
 */
export function expireDue(account: Account, program: Program, now: Instant): ExpireDueResult {
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
  let settled = account;
  for (const bucket of buckets(account)) {
    const effectiveTime = expireTime(program, bucket.month);
    if (effectiveTime > time) continue;
    const appended = appendEntry(settled, time, expiredEntry(bucket, effectiveTime));
    settled = appended.account;
    entries.push(appended.entry);
  }
  const slots = Array<number>(lifetime).fill(0);
  for (const { month, points } of buckets(settled)) slots[slotOf(month, lifetime)] = points;
  return { account: { ...settled, month, slots, time }, entries };
}

/** The EXPIRED entry of a month's points. */
export function expiredEntry(bucket: Bucket, effectiveTime: Instant, cause = ""): NewEntry {
  return {
    type: "EXPIRED",
    event: { origin: "x", eventId: formatMonth(bucket.month) + cause },
    effectiveTime,
    points: bucket.points,
    changes: [{ month: bucket.month, points: -bucket.points }],
    total: "expired",
    reason: "",
    caller: "",
  };
}

/**
 * Writes one entry: the only way in which buckets, totals, frozen flag and number ever change.
 * A month that the ring no longer holds shares its slot with another, so its changes must add up
 * to nothing before the next read; a refund of expired points is the one case.
 */
export function appendEntry(
  account: Account,
  now: Instant,
  draft: NewEntry,
): { account: Account; entry: LedgerEntry } {
  const time = Math.max(now, account.time);
  const slots = [...account.slots];
  for (const { month, points } of draft.changes) {
    const slot = slotOf(month, slots.length);
    slots[slot] = (slots[slot] as number) + points;
  }
  const totals = draft.total
    ? { ...account.totals, [draft.total]: account.totals[draft.total] + draft.points }
    : account.totals;
  const changed: Account = {
    ...account,
    slots,
    totals,
    frozen: draft.frozen ?? account.frozen,
    last: account.last + 1,
    time,
  };
  const entry: LedgerEntry = {
    ...draft,
    number: changed.last,
    createTime: time,
    effectiveTime: draft.effectiveTime ?? time,
    frozen: changed.frozen,
    balance: balanceOf(changed),
  };
  return { account: changed, entry };
}
