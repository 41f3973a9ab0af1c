/** The rules for changing an account: grant, use, revoke, extension, freeze, expiry. */

import type { Annotations } from "../../platform/words/annotations.ts";
import type { Caller } from "../../platform/words/caller.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { formatMonth, type Instant, type Month } from "../../platform/words/month.ts";
import { nounFor } from "../../platform/words/quantities.ts";
import type { Points } from "../../platform/words/units.ts";
import {
  type Account,
  appendEntry,
  availablePointsOf,
  buckets,
  emptyAccount,
  expireDue,
  expiredEntry,
  expireTime,
  pointsOf,
} from "./account.ts";
import { bucketMonth, type EarlyExpiry } from "./early-expiry.ts";
import {
  type EventKey,
  type EventName,
  eventName,
  type LedgerEntry,
  type MonthChange,
  type NewEntry,
} from "./ledger.ts";
import { negative, sum, takeFirst } from "./month-changes.ts";
import type { Program } from "./program.ts";

/** The balance, the points ever issued, ever refunded and ever held are each at most this. */
export const maxBalance = 10 ** 15;

/** The state on which a change of an account is decided. */
export interface State {
  readonly program: Program;
  readonly userId: string;
  /** Undefined when the account does not exist yet. */
  readonly account: Account | undefined;
  readonly now: Instant;
}

/** The event and the caller of a change, and its annotations. */
export interface Event extends Annotations {
  readonly event: EventName;
  readonly caller: Caller;
}

/** A decided change: the new account and the entries that lead to it. */
export interface Change {
  readonly account: Account;
  /** The expiries before `entry`, `entry` itself, and the expiries that it causes. */
  readonly entries: readonly LedgerEntry[];
  /** The entry of the event itself. */
  readonly entry: LedgerEntry;
}

/** Where a refund or a release puts points that have expired since they were taken. */
export type ExpiredPointsPolicy = "ORIGINAL_EXPIRY" | "CURRENT_MONTH";

/**
 * Adds points to the current month, or to the earlier one whose points expire as `expiry` says.
 * Refusals: ACCOUNT_FROZEN, LIMIT_EXCEEDED above `maxBalance` and as `bucketMonth`.
 */
export function grant(state: State, event: Event, points: Points, expiry?: EarlyExpiry): Change {
  const { account, entries } = requireNotFrozen(state);
  const month = bucketMonth(account.month, account.slots.length, expiry);
  const appended = appendEntry(account, state.now, {
    ...event,
    type: "ISSUED",
    points,
    changes: [{ month, points }],
    total: "issuedPoints",
    expireTime: expireTime(state.program, month, account.time),
  });
  checkLimits(appended.account);
  return {
    account: withOldest(appended.account),
    entries: [...entries, appended.entry],
    entry: appended.entry,
  };
}

/**
 * Takes points, oldest month first. Refusals: ACCOUNT_FROZEN, and INSUFFICIENT_POINTS when there
 * are too few; with `allowPartial` only when there are none.
 */
export function use(state: State, event: Event, points: Points, allowPartial: boolean): Change {
  const before = requireNotFrozen(state);
  const changes = drained(before.account, points, allowPartial).map(negative);
  return withEntry(state, before, { ...event, type: "USED", points: -sum(changes), changes });
}

/** Returns the points that a use or a hold takes, by month, oldest first. Refusals as `use`. */
export function drained(account: Account, points: Points, allowPartial: boolean): MonthChange[] {
  const available = availablePointsOf(account);
  if (available === 0 || (available < points && !allowPartial)) {
    const message = `${points} ${nounFor(points, "point")} requested, ${available} available`;
    throw new DomainError("INSUFFICIENT_POINTS", message, {
      available_points: String(available),
    });
  }
  return takeFirst(buckets(account), Math.min(points, available));
}

/**
 * Takes back what is left of a grant or an extension, which may be 0. Works on a frozen account.
 */
export function revoke(state: State, event: Event, granted: EventKey): Change {
  const before = currentAccount(state);
  const left = leftOf(state.program, before.account, granted);
  return withEntry(state, before, {
    ...event,
    type: "REVOKED",
    points: sum(left),
    changes: left.map(negative),
    relatedEvent: granted.entry.event,
  });
}

/**
 * Moves what is left of a grant, or of an earlier extension, to the month whose points expire at
 * the end of `expireMonth`. 0 points are moved when nothing is left. The moved points belong to the
 * extension from then on: a revoke or a further extension of them names it. Works on a frozen
 * account, whose points do not become more. Refusal: LIMIT_EXCEEDED as `bucketMonth`, and for a
 * month that is not later than that of the points.
 */
export function extendExpiry(
  state: State,
  event: Event,
  granted: EventKey,
  expireMonth: Month,
): Change {
  const { account, entries } = currentAccount(state);
  const target = bucketMonth(account.month, account.slots.length, { expireMonth });
  const left = leftOf(state.program, account, granted);
  if (left.some(({ month }) => month >= target)) {
    const message = `the points last until the end of ${formatMonth(expireMonth)} or longer`;
    throw new DomainError("LIMIT_EXCEEDED", message);
  }
  const points = sum(left);
  const { account: changed, entry } = appendEntry(account, state.now, {
    ...event,
    type: "EXTENDED",
    points,
    changes: points > 0 ? [...left.map(negative), { month: target, points }] : [],
    expireTime: expireTime(state.program, target, account.time),
    relatedEvent: granted.entry.event,
  });
  return { account: changed, entries: [...entries, entry], entry };
}

/** Points by month, oldest first, that were taken from these months at `since`. */
interface Restored {
  readonly months: readonly MonthChange[];
  readonly since: Instant;
}

/**
 * Appends the entry of a refund or a release, which returns points to the months that they were
 * taken from. The policy decides about points whose month has expired since.
 */
export function withRestored(
  state: State,
  before: Before,
  entry: Omit<NewEntry, "total" | "points" | "changes"> & { type: "REFUNDED" | "RELEASED" },
  { months, since }: Restored,
  expiredPointsPolicy: ExpiredPointsPolicy,
): Change {
  const { account } = before;
  const expired = months.filter(({ month }) => !isAlive(state.program, account, month, since));
  const toCurrent = expiredPointsPolicy === "CURRENT_MONTH" ? sum(expired) : 0;
  const alive = months.filter((change) => !expired.includes(change));
  const appended = withEntry(state, before, {
    ...entry,
    points: sum(months),
    // None of the points are of this month: it has begun since, as other points have expired.
    changes: toCurrent > 0 ? [...alive, { month: account.month, points: toCurrent }] : months,
  });
  const change = toCurrent > 0 ? appended : expireAtOnce(state, appended, expired, since);
  return { ...change, account: withOldest(change.account) };
}

/**
 * Freezes or unfreezes an account. Freezing creates an unknown account. Refusal: ACCOUNT_NOT_FOUND
 * for unfreezing one.
 */
export function setFrozen(state: State, event: Event, frozen: boolean): Change {
  if (!state.account && !frozen) {
    throw new DomainError("ACCOUNT_NOT_FOUND", "there is no such account to unfreeze");
  }
  const { account, entries } = currentAccount(state);
  const type = frozen ? "FROZEN" : "UNFROZEN";
  const { account: changed, entry } = appendEntry(account, state.now, {
    ...event,
    type,
    points: 0,
    changes: [],
    frozen,
  });
  return { account: changed, entries: [...entries, entry], entry };
}

/**
 * Expires what is due for the month-end sweep and makes `oldest` exact. This removes the account
 * from the expiry index when it has no points.
 */
export function expireForMonthEnd(
  account: Account,
  program: Program,
  now: Instant,
): { account: Account; entries: readonly LedgerEntry[] } {
  const { account: current, entries } = expireDue(account, program, now);
  const { oldest: _, ...rest } = current;
  const oldest = buckets(current)[0]?.month;
  return { account: oldest === undefined ? rest : { ...rest, oldest }, entries };
}

/** An account without what is due, and the entries that were appended to reach it. */
export type Before = Pick<Change, "account" | "entries">;

export function requireNotFrozen(state: State): Before {
  if (state.account?.frozen) throw new DomainError("ACCOUNT_FROZEN", "the account is frozen");
  return currentAccount(state);
}

export function currentAccount({ account, program, userId, now }: State): Before {
  return expireDue(account ?? emptyAccount(program, userId, now), program, now);
}

const totalOf = {
  USED: "usedPoints",
  REVOKED: "revokedPoints",
  REFUNDED: "refundedPoints",
  HELD: "heldPoints",
  CAPTURED: "capturedPoints",
  RELEASED: "releasedPoints",
} as const;

/** Appends the entry of a change that adds to a total. */
export function withEntry(
  state: State,
  { account, entries }: Before,
  newEntry: Omit<NewEntry, "total"> & { type: keyof typeof totalOf },
): Change {
  const { account: changed, entry } = appendEntry(account, state.now, {
    ...newEntry,
    total: totalOf[newEntry.type],
  });
  return { account: changed, entries: [...entries, entry], entry };
}

/** Appends an EXPIRED entry after the change for each restored month that has expired `since`. */
function expireAtOnce(
  state: State,
  change: Change,
  expired: readonly MonthChange[],
  since: Instant,
): Change {
  let { account } = change;
  const entries = [...change.entries];
  const suffix = `/${eventName(change.entry.event)}`;
  for (const bucket of expired) {
    const effectiveTime = expireTime(state.program, bucket.month, since);
    const appended = appendEntry(account, state.now, expiredEntry(bucket, effectiveTime, suffix));
    account = appended.account;
    entries.push(appended.entry);
  }
  return { ...change, account, entries };
}

/**
 * The points left of a grant or an extension in its month, if any: min(points − reversed so far,
 * points of that month). The last change of an extension is the month to which it has moved points.
 */
function leftOf(program: Program, account: Account, granted: EventKey): MonthChange[] {
  const { changes, createTime } = granted.entry;
  return changes.slice(-1).flatMap(({ month, points }) => {
    if (!isAlive(program, account, month, createTime)) return [];
    const left = Math.min(points - granted.reversedPoints, pointsOf(account, month));
    return left > 0 ? [{ month, points: left }] : [];
  });
}

/**
 * Returns whether points that were in a month at `since` have not expired. A month that the ring no
 * longer holds has expired, even if the zone data of this server differ: its slot belongs to
 * another month now.
 */
function isAlive(program: Program, account: Account, month: Month, since: Instant): boolean {
  const isInRing = month <= account.month && month > account.month - account.slots.length;
  return isInRing && expireTime(program, month, since) > account.time;
}

/** Lowers `oldest` when the account has points of an earlier month, or its first points. */
function withOldest(account: Account): Account {
  const first = buckets(account)[0]?.month;
  if (first === undefined || (account.oldest !== undefined && account.oldest <= first)) {
    return account;
  }
  return { ...account, oldest: first };
}

export function checkLimits(account: Account): void {
  const highest = Math.max(
    availablePointsOf(account),
    account.totals.issuedPoints,
    account.totals.refundedPoints,
  );
  if (highest > maxBalance) throw aboveLimit();
}

export const aboveLimit = (): DomainError =>
  new DomainError("LIMIT_EXCEEDED", `an account takes at most ${maxBalance} points`, {
    limit: String(maxBalance),
  });
