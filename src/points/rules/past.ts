/** Accounts as they were at an instant of the past, from the ledger entries up to it. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import { type Account, buckets, emptyAccount, expireDue } from "./account.ts";
import type { LedgerEntry, Snapshot } from "./ledger.ts";
import type { Program } from "./program.ts";
import { addEntry, type LedgerSum, rebuildFromLedger, startSum } from "./rebuild.ts";

/** A ledger has a snapshot at every such number, or a few entries behind it. */
export const snapshotInterval = 32;

/**
 * Returns the entries of a change that has led to `account`. The last one has a snapshot if the
 * number of one of them is a multiple of the interval. No other one has: within a change, a slot of
 * the ring may hold the points of two months (`appendEntry`).
 */
export function withSnapshot(
  account: Account,
  entries: readonly LedgerEntry[],
): readonly LedgerEntry[] {
  const last = entries.at(-1);
  if (!last || last.number % snapshotInterval >= entries.length) return entries;
  const snapshot = { months: buckets(account), totals: account.totals };
  return [...entries.slice(0, -1), { ...last, snapshot }];
}

/** Throws INVALID_REQUEST for an instant that is still to come. */
export function requirePast(asOf: Instant, now: Instant): void {
  if (asOf <= now) return;
  throw new DomainError("INVALID_REQUEST", "as_of is still to come", { field: "as_of" });
}

/** Returns the program with the lifetimes that had taken effect at `asOf`. */
export function programAsOf(program: Program, asOf: Instant): Program {
  const lifetimes = program.lifetimes.filter(
    ({ effectiveTime }, i) => i === 0 || effectiveTime <= asOf,
  );
  return { ...program, lifetimes };
}

/**
 * Returns the account as it was at `asOf`: after all entries recorded at this instant or before,
 * and after the expiry of what was due, whenever its entry was recorded. `newestFirst` are these
 * entries, from the last one down to one that has a snapshot, or to number 1. Throws LEDGER_DAMAGED
 * when one is missing or contradicts the one before.
 */
export function accountByEntries(
  program: Program,
  userId: string,
  newestFirst: readonly LedgerEntry[],
  asOf: Instant,
): Account {
  const oldestFirst = newestFirst.toReversed();
  let sum = startSum();
  for (const [i, entry] of oldestFirst.entries()) {
    const { snapshot, number: last, createTime: time, frozen } = entry;
    if (i === 0 && snapshot) sum = sumFrom(snapshot, { last, time, frozen });
    else addEntry(sum, entry);
    const isRight = sum.availablePoints === entry.availablePoints;
    if (!isRight || sum.faultCount > 0) throw ledgerDamaged(last);
  }
  return accountOf(sum, program, userId, asOf);
}

/** The sum of all entries up to one of them, from what they add up to. */
function sumFrom(
  { months, totals }: Snapshot,
  { last, time, frozen }: Pick<LedgerSum, "last" | "time" | "frozen">,
): LedgerSum {
  return {
    ...startSum(),
    months: Object.fromEntries(months.map(({ month, points }) => [month, points])),
    totals: { ...totals },
    availablePoints: months.reduce((sum, { points }) => sum + points, 0),
    frozen,
    last,
    time,
  };
}

function accountOf(sum: LedgerSum, program: Program, userId: string, asOf: Instant): Account {
  const past = programAsOf(program, asOf);
  const account = rebuildFromLedger(sum, past, userId) ?? emptyAccount(past, userId, asOf);
  return expireDue(account, past, asOf).account;
}

/** The refusal LEDGER_DAMAGED of an account that needs an entry. */
export const ledgerDamaged = (number: number): DomainError =>
  new DomainError("LEDGER_DAMAGED", `the ledger is damaged at entry ${number}`);
