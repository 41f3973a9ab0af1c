import type { Account } from "./account.ts";
import {
  appendEntry,
  balanceOf,
  buckets,
  emptyAccount,
  expireDue,
  expiredEntry,
  pointsOf,
} from "./account.ts";
import { DomainError } from "./errors.ts";
import type { EventKey, EventRef, LedgerEntry, MonthChange } from "./ledger.ts";
import type { Instant, Month } from "./month.ts";
import type { Program } from "./program.ts";
import { expireTime } from "./program.ts";

/** A balance, the points ever issued and the points ever refunded are each at most this. */
export const maxBalance = 10 ** 15;

/** Points of one call: 1 to this. */
export const maxPoints = 10 ** 9;

/** What every change of an account is decided on. */
export interface State {
  readonly program: Program;
  readonly userId: string;
  /** Absent: the account is not there yet. */
  readonly account: Account | undefined;
  readonly now: Instant;
}

/** What every change says of itself. */
export interface Event {
  readonly event: EventRef;
  readonly reason: string;
  readonly caller: string;
}

/** What was decided: the account as it is to be, and the entries that lead there. */
export interface Change {
  readonly account: Account;
  /** Expiries ahead of `entry`, `entry` itself, and what it caused behind it. */
  readonly entries: readonly LedgerEntry[];
  /** The entry of the event itself. */
  readonly entry: LedgerEntry;
}

/** What becomes of refunded points that have expired since they were used. */
export type ExpiredPoints = "ORIGINAL_EXPIRY" | "CURRENT_MONTH";

/** Adds points to the current month. Refuses on a frozen account and above `maxBalance`. */
export function grant(state: State, event: Event, points: number): Change {
  const { account, entries } = requireNotFrozen(state);
  const appended = appendEntry(account, state.now, {
    ...event,
    type: "ISSUED",
    points,
    changes: [{ month: account.month, points }],
    total: "issued",
    expireTime: expireTime(state.program, account.month),
  });
  checkLimits(appended.account);
  return {
    account: withOldest(appended.account),
    entries: [...entries, appended.entry],
    entry: appended.entry,
  };
}

/**
 * Takes points, oldest month first. Refuses when there are too few, unless `allowPartial`; nothing
 * at all is refused even then.
 */
export function use(state: State, event: Event, points: number, allowPartial: boolean): Change {
  const { account, entries } = requireNotFrozen(state);
  const balance = balanceOf(account);
  if (balance === 0 || (balance < points && !allowPartial)) {
    throw new DomainError("INSUFFICIENT_POINTS", `${points} points asked, ${balance} available`, {
      balance: String(balance),
    });
  }
  const taken = Math.min(points, balance);
  const changes = drain(buckets(account), taken).map(negative);
  return withEntry(state, entries, account, { ...event, type: "USED", points: taken, changes });
}

/**
 * Takes back what a grant's month still holds of it: min(points − revoked so far, points of that
 * month), which may be 0. Works on a frozen account.
 */
export function revoke(state: State, event: Event, granted: EventKey): Change {
  const { account, entries } = currentAccount(state);
  const { month, points } = granted.entry.changes[0] as MonthChange;
  const alive = isAlive(state.program, month, account) ? pointsOf(account, month) : 0;
  const taken = Math.min(points - granted.reversedPoints, alive);
  return withEntry(state, entries, account, {
    ...event,
    type: "REVOKED",
    points: taken,
    changes: taken > 0 ? [{ month, points: -taken }] : [],
    relatedEvent: granted.entry.event,
  });
}

/**
 * Undoes a use from its end, newest month first. `points` absent means all that is left of it.
 * Points whose month has expired since go as `expired` says.
 */
export function refund(
  state: State,
  event: Event,
  used: EventKey,
  points: number | undefined,
  expired: ExpiredPoints,
): Change {
  const left = used.entry.points - used.reversedPoints;
  const wanted = points ?? left;
  if (wanted > left || left === 0) {
    throw new DomainError("LIMIT_EXCEEDED", `${left} points of this use can be refunded`, {
      refundable: String(left),
    });
  }
  const { account, entries } = requireNotFrozen(state);
  const newestFirst = used.entry.changes.map(negative).reverse();
  const restored = drain(skip(newestFirst, used.reversedPoints), wanted).reverse();
  const gone = restored.filter(({ month }) => !isAlive(state.program, month, account));
  const toCurrent = expired === "CURRENT_MONTH" ? sum(gone) : 0;
  const changes =
    toCurrent > 0
      ? moved(
          restored.filter((change) => !gone.includes(change)),
          account.month,
          toCurrent,
        )
      : restored;
  const refunded = withEntry(state, entries, account, {
    ...event,
    type: "REFUNDED",
    points: wanted,
    changes,
    relatedEvent: used.entry.event,
  });
  const change = toCurrent > 0 ? refunded : expireAtOnce(state, refunded, gone);
  checkLimits(change.account);
  return { ...change, account: withOldest(change.account) };
}

/** Freezes or unfreezes an account; freezing an unknown one creates it. */
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
 * Settles an account for the monthly sweep and makes its `oldest` exact, which takes it out of the
 * index when it holds nothing.
 */
export function expireForMonthEnd(
  account: Account,
  program: Program,
  now: Instant,
): { account: Account; entries: readonly LedgerEntry[] } {
  const { account: settledAccount, entries } = expireDue(account, program, now);
  const { oldest: before, ...rest } = settledAccount;
  const oldest = buckets(settledAccount)[0]?.month;
  if (oldest === before) return { account: settledAccount, entries };
  return { account: oldest === undefined ? rest : { ...rest, oldest }, entries };
}

function currentAccount({ account, program, userId, now }: State) {
  return expireDue(account ?? emptyAccount(program, userId, now), program, now);
}

function requireNotFrozen(state: State) {
  if (state.account?.frozen) throw new DomainError("ACCOUNT_FROZEN", "the account is frozen");
  return currentAccount(state);
}

const totalOf = { USED: "used", REVOKED: "revoked", REFUNDED: "refunded" } as const;

function withEntry(
  state: State,
  before: readonly LedgerEntry[],
  account: Account,
  draft: Omit<Parameters<typeof appendEntry>[2], "total"> & { type: keyof typeof totalOf },
): Change {
  const { account: changed, entry } = appendEntry(account, state.now, {
    ...draft,
    total: totalOf[draft.type],
  });
  return { account: changed, entries: [...before, entry], entry };
}

/** Behind the refund, one EXPIRED entry for each month that has expired since the use. */
function expireAtOnce(state: State, change: Change, gone: readonly MonthChange[]): Change {
  let { account } = change;
  const entries = [...change.entries];
  const { origin, eventId } = change.entry.event;
  for (const bucket of gone) {
    const effectiveTime = expireTime(state.program, bucket.month);
    const next = appendEntry(
      account,
      state.now,
      expiredEntry(bucket, effectiveTime, `/${origin}:${eventId}`),
    );
    account = next.account;
    entries.push(next.entry);
  }
  return { ...change, account, entries };
}

/**
 * True while the points of a month have not expired. A month that the ring no longer holds has
 * expired, whatever the zone data of this server say: its slot belongs to another month by now.
 */
function isAlive(program: Program, month: Month, account: Account): boolean {
  const inRing = month <= account.month && month > account.month - account.slots.length;
  return inRing && expireTime(program, month) > account.time;
}

/** Takes `points` from the front of `from`. */
function drain(from: readonly MonthChange[], points: number): MonthChange[] {
  const taken: MonthChange[] = [];
  let left = points;
  for (const { month, points: available } of from) {
    if (left === 0) break;
    const take = Math.min(left, available);
    taken.push({ month, points: take });
    left -= take;
  }
  return taken;
}

/** What is left of `from` when `points` have been taken from its front. */
function skip(from: readonly MonthChange[], points: number): MonthChange[] {
  let left = points;
  return from.flatMap(({ month, points: available }) => {
    const take = Math.min(left, available);
    left -= take;
    return take < available ? [{ month, points: available - take }] : [];
  });
}

/** `changes` with `points` more in `month`, which is not older than any of them. */
function moved(changes: readonly MonthChange[], month: Month, points: number): MonthChange[] {
  const older = changes.filter((change) => change.month !== month);
  return [...older, { month, points: points + sum(changes) - sum(older) }];
}

const negative = ({ month, points }: MonthChange): MonthChange => ({ month, points: -points });

const sum = (changes: readonly MonthChange[]): number =>
  changes.reduce((total, { points }) => total + points, 0);

/** Points that come in may be older than the bound, or the first: only then does the bound move. */
function withOldest(account: Account): Account {
  const first = buckets(account)[0]?.month;
  if (first === undefined || (account.oldest !== undefined && account.oldest <= first)) {
    return account;
  }
  return { ...account, oldest: first };
}

function checkLimits(account: Account): void {
  const highest = Math.max(balanceOf(account), account.totals.issued, account.totals.refunded);
  if (highest > maxBalance) {
    throw new DomainError("LIMIT_EXCEEDED", `an account takes at most ${maxBalance} points`, {
      limit: String(maxBalance),
    });
  }
}
