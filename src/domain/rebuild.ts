/** Adds up a ledger to the account that it leads to, and compares an account with the sum. */
import type { Account } from "./account.ts";
import { balanceOf, buckets, emptyAccount, expireDue, slotOf } from "./account.ts";
import type { LedgerEntry, Totals } from "./ledger.ts";
import type { Instant } from "./month.ts";
import { formatMonth, monthAt } from "./month.ts";
import type { Program } from "./program.ts";
import { lifetimeAt } from "./program.ts";

/** A place where an account and its ledger disagree; `expected` is what the ledger says. */
export interface Difference {
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
}

/** Differences that are kept; those beyond are counted. */
const maxDifferences = 100;

/** Months with points that a sum holds at most: 100 years, so that its size is bounded. */
const maxMonths = 1_200;

/** The latest instant that a date can have, in ms since the epoch. */
const maxTime = 8.64e15;

/** Numbers of ledger entries, both included. */
export interface NumberRange {
  readonly from: number;
  readonly to: number;
}

/** A ledger added up so far. Plain JSON of bounded size: it is the state of a verification. */
export interface LedgerSum {
  /** Points by month; months without points are left out. */
  readonly months: Record<string, number>;
  readonly totals: Record<keyof Totals, number>;
  balance: number;
  frozen: boolean;
  /** The highest number so far. */
  last: number;
  /** The latest time at which an entry was recorded. */
  time: Instant;
  entryCount: number;
  /** The first 100 faults of the ledger itself: numbers, times and balances that do not follow. */
  readonly faults: Difference[];
  faultCount: number;
  /** The first 100 holes. */
  readonly missing: NumberRange[];
}

export function startSum(): LedgerSum {
  const totals = { issued: 0, used: 0, expired: 0, refunded: 0, revoked: 0 };
  const start = { balance: 0, frozen: false, last: 0, time: 0, entryCount: 0, faultCount: 0 };
  return { ...start, months: {}, totals, faults: [], missing: [] };
}

/** Adds one entry, without looking at its type. Entries come in the order of their numbers. */
export function addEntry(sum: LedgerSum, entry: LedgerEntry): void {
  const fault = (field: string, expected: unknown, actual: unknown) => {
    sum.faultCount += 1;
    if (sum.faults.length >= maxDifferences) return;
    const name = `entries[${entry.number}].${field}`;
    sum.faults.push({ field: name, expected: String(expected), actual: String(actual) });
  };
  sum.entryCount += 1;
  if (!isReadable(entry)) {
    fault("record", "readable", "unreadable");
    if (entry.number > sum.last) sum.last = entry.number;
    return;
  }
  const next = sum.last + 1;
  if (entry.number !== next) {
    fault("number", next, entry.number);
    // A second entry of one number. Nothing tells which one is right, so the first one counts.
    if (entry.number < next) return;
    if (sum.missing.length < maxDifferences) {
      sum.missing.push({ from: next, to: entry.number - 1 });
    }
  }
  if (entry.createTime < sum.time) fault("create_time", sum.time, entry.createTime);
  if (!addChanges(sum, entry)) fault("changes", `at most ${maxMonths} months`, "more");
  if (entry.balance !== sum.balance) fault("balance", sum.balance, entry.balance);
  if (entry.total) sum.totals[entry.total] += entry.points;
  sum.frozen = entry.frozen;
  sum.last = entry.number;
  sum.time = Math.max(sum.time, entry.createTime);
}

/** Returns false when there are too many months with points. */
function addChanges(sum: LedgerSum, { changes }: LedgerEntry): boolean {
  const { months } = sum;
  for (const { month, points } of changes) {
    const left = (months[month] ?? 0) + points;
    if (left === 0) delete months[month];
    else months[month] = left;
    sum.balance += points;
  }
  const all = Object.keys(months);
  for (const month of all.slice(maxMonths)) delete months[month];
  return all.length <= maxMonths;
}

const isReadable = ({ number, createTime, points, balance, changes }: LedgerEntry): boolean =>
  [number, createTime, points, balance].every(Number.isSafeInteger) &&
  Math.abs(createTime) <= maxTime &&
  changes.every((change) => Object.values(change).every(Number.isSafeInteger));

/** The account that a ledger leads to; absent for an empty ledger. */
export function rebuildFromLedger(
  sum: LedgerSum,
  program: Program,
  userId: string,
): Account | undefined {
  if (sum.last === 0) return undefined;
  const { totals, frozen, last, time } = sum;
  const lifetime = lifetimeAt(program, time);
  const slots = Array<number>(lifetime).fill(0);
  const months = Object.keys(sum.months).map(Number);
  for (const month of months) slots[slotOf(month, lifetime)] = sum.months[month] as number;
  // A server with newer zone data may have granted into a month that has not begun for this one.
  const month = Math.max(monthAt(program.timeZone, time), ...months);
  const { programId } = program;
  const account = { programId, userId, month, slots, totals, frozen, last, time };
  return months.length > 0 ? { ...account, oldest: Math.min(...months) } : account;
}

/** The first 100 differences, and how many there are. */
export interface Comparison {
  readonly differences: readonly Difference[];
  readonly differenceCount: number;
}

/** Compares an account with its ledger, both turned to the same instant. */
export function compare(
  account: Account | undefined,
  sum: LedgerSum,
  program: Program,
  userId: string,
  now: Instant,
): Comparison {
  const own = differencesOf(account, sum, program, userId, now);
  return {
    differences: [...own, ...sum.faults].slice(0, maxDifferences),
    differenceCount: own.length + sum.faultCount,
  };
}

function differencesOf(
  account: Account | undefined,
  sum: LedgerSum,
  program: Program,
  userId: string,
  now: Instant,
): Difference[] {
  const expected = rebuildFromLedger(sum, program, userId);
  if (!account) {
    return expected ? [{ field: "last", expected: String(sum.last), actual: "0" }] : [];
  }
  const times = [now, sum.time, account.time].filter((time) => Math.abs(time) <= maxTime);
  const time = Math.max(...times);
  const want = facts(expected ?? emptyAccount(program, userId, time), program, time);
  const have = facts(account, program, time);
  return [...new Set([...want.keys(), ...have.keys()])]
    .map((field) => ({
      field,
      expected: want.get(field) ?? "0",
      actual: have.get(field) ?? "0",
    }))
    .filter((difference) => difference.expected !== difference.actual);
}

/** Everything that is compared, by name. */
function facts(stored: Account, program: Program, now: Instant): Map<string, string> {
  const { account, entries } = turned(stored, program, now);
  return new Map<string, string>([
    ["month", formatMonth(account.month)],
    ["lifetime", String(account.slots.length)],
    ["frozen", String(account.frozen)],
    ["last", String(account.last - entries.length)],
    ["balance", String(balanceOf(account))],
    ...Object.entries(account.totals).map(([k, v]): [string, string] => [`totals.${k}`, String(v)]),
    ...buckets(account).map(({ month, points }): [string, string] => [
      `buckets[${formatMonth(month)}]`,
      String(points),
    ]),
  ]);
}

/**
 * The account at `now`. A damaged one that cannot be turned is taken as it is stored: a ring longer
 * than the program's lifetime, or a month or time that is no number.
 */
function turned(account: Account, program: Program, now: Instant) {
  const { month, time, slots } = account;
  const isDamaged = !Number.isSafeInteger(month) || !(Math.abs(time) <= maxTime);
  const isTooLong = slots.length > lifetimeAt(program, now);
  return isDamaged || isTooLong ? { account, entries: [] } : expireDue(account, program, now);
}
