/** Rebuilds an account from its ledger, and compares an account with its ledger. */

import type { Instant } from "../../platform/words/month.ts";
import { formatMonth, monthAt } from "../../platform/words/month.ts";
import {
  type Account,
  availablePointsOf,
  buckets,
  emptyAccount,
  expireDue,
  isDamaged,
  lifetimeAt,
  slotOf,
} from "./account.ts";
import { type LedgerEntry, noTotals, type Snapshot, type Totals } from "./ledger.ts";
import type { Program } from "./program.ts";

/** A field in which an account and its ledger differ; `expected` is the value from the ledger. */
export interface Difference {
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
}

/** A range of numbers of ledger entries, both included. */
export interface NumberRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The sum of the ledger entries read so far. It is plain JSON of bounded size: heartbeats of a
 * verification contain it, so its property names do not change.
 */
export interface LedgerSum {
  /** Points by month, without months of 0 points. */
  readonly months: Record<string, number>;
  readonly totals: Record<keyof Totals, number>;
  availablePoints: number;
  frozen: boolean;
  /** The highest entry number so far. */
  last: number;
  /** The latest `createTime` so far. */
  time: Instant;
  entryCount: number;
  /** The first 100 faults of the ledger: numbers, times and balances that contradict each other. */
  readonly faults: Difference[];
  faultCount: number;
  /** How many of them are wrong snapshots, by which no account is rebuilt. Absent for none. */
  snapshotFaultCount?: number;
  /** The first 100 ranges of missing entries. */
  readonly missing: NumberRange[];
}

/** The number of differences that are kept; all of them are counted. */
const maxDifferences = 100;

/** A sum holds at most this many months with points, 100 years, so that its size is bounded. */
const maxMonths = 1_200;

/** The latest instant of a JavaScript date. */
const maxTime = 8.64e15;

/** Returns the sum of no entries. */
export function startSum(): LedgerSum {
  const totals = { ...noTotals };
  const start = {
    availablePoints: 0,
    frozen: false,
    last: 0,
    time: 0,
    entryCount: 0,
    faultCount: 0,
  };
  return { ...start, months: {}, totals, faults: [], missing: [] };
}

/**
 * Adds one entry to the sum, whatever its type. The caller adds the entries in the order of their
 * numbers.
 */
export function addEntry(sum: LedgerSum, entry: LedgerEntry): void {
  const addFault = (field: string, expected: unknown, actual: unknown) => {
    sum.faultCount += 1;
    if (sum.faults.length >= maxDifferences) return;
    sum.faults.push({
      field: `entries[${entry.number}].${field}`,
      expected: String(expected),
      actual: String(actual),
    });
  };
  sum.entryCount += 1;
  if (!isReadable(entry)) {
    addFault("record", "readable", "unreadable");
    if (entry.number > sum.last) sum.last = entry.number;
    return;
  }
  const next = sum.last + 1;
  if (entry.number !== next) {
    addFault("number", next, entry.number);
    // A second entry of one number: nothing shows which one is right, so the first one counts.
    if (entry.number < next) return;
    if (sum.missing.length < maxDifferences) {
      sum.missing.push({ from: next, to: entry.number - 1 });
    }
  }
  if (entry.createTime < sum.time) addFault("create_time", sum.time, entry.createTime);
  if (!addChanges(sum, entry)) addFault("changes", `at most ${maxMonths} months`, "more");
  if (entry.availablePoints !== sum.availablePoints)
    addFault("available_points", sum.availablePoints, entry.availablePoints);
  if (entry.total) sum.totals[entry.total] += entry.points;
  sum.frozen = entry.frozen;
  sum.last = entry.number;
  sum.time = Math.max(sum.time, entry.createTime);
  if (!entry.snapshot) return;
  const [expected, actual] = [textOf(snapshotOf(sum)), textOf(entry.snapshot)];
  if (actual === expected) return;
  addFault("snapshot", expected, actual);
  sum.snapshotFaultCount = (sum.snapshotFaultCount ?? 0) + 1;
}

/** Whether the entries contradict each other, whatever their snapshots say. */
export const isContradictory = ({ faultCount, snapshotFaultCount = 0 }: LedgerSum): boolean =>
  faultCount > snapshotFaultCount;

/** The numbers of the entries whose wrong snapshots are among the first faults. */
export const wrongSnapshots = ({ faults }: LedgerSum): number[] =>
  faults.flatMap(({ field }) => {
    const [, number] = /^entries\[(\d+)\]\.snapshot$/.exec(field) ?? [];
    return number === undefined ? [] : [Number(number)];
  });

/** The snapshot that an entry has if it is the last one of the sum. */
function snapshotOf({ months, totals }: LedgerSum): Snapshot {
  const points = Object.entries(months);
  return { months: points.map(([month, sum]) => ({ month: Number(month), points: sum })), totals };
}

function textOf({ months, totals }: Snapshot): string {
  const buckets = months.map(({ month, points }) => `${formatMonth(month)}: ${points}`);
  const sums = Object.entries(totals).filter(([, points]) => points !== 0);
  return [...buckets, ...sums.toSorted().map((sum) => sum.join(": "))].join(", ");
}

/** Returns false when there are too many months with points. */
function addChanges(sum: LedgerSum, { changes }: LedgerEntry): boolean {
  const { months } = sum;
  for (const { month, points } of changes) {
    const total = (months[month] ?? 0) + points;
    if (total === 0) delete months[month];
    else months[month] = total;
    sum.availablePoints += points;
  }
  const withPoints = Object.keys(months);
  for (const month of withPoints.slice(maxMonths)) delete months[month];
  return withPoints.length <= maxMonths;
}

const isReadable = ({
  number,
  createTime,
  points,
  availablePoints,
  changes,
}: LedgerEntry): boolean =>
  [number, createTime, points, availablePoints].every(Number.isSafeInteger) &&
  Math.abs(createTime) <= maxTime &&
  changes.every((change) => Object.values(change).every(Number.isSafeInteger));

/** Rebuilds the account from the sum of its ledger. Returns undefined for an empty ledger. */
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
  // Another server with newer zone data may have granted into a month that begins later here.
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

/** Compares an account with its ledger, both rotated to the same instant. */
export function compare(
  account: Account | undefined,
  sum: LedgerSum,
  program: Program,
  userId: string,
  now: Instant,
): Comparison {
  const accountDifferences = differencesOf(account, sum, program, userId, now);
  return {
    differences: [...accountDifferences, ...sum.faults].slice(0, maxDifferences),
    differenceCount: accountDifferences.length + sum.faultCount,
  };
}

function differencesOf(
  account: Account | undefined,
  sum: LedgerSum,
  program: Program,
  userId: string,
  now: Instant,
): Difference[] {
  const rebuilt = rebuildFromLedger(sum, program, userId);
  if (!account) {
    return rebuilt ? [{ field: "last", expected: String(sum.last), actual: "0" }] : [];
  }
  const times = [now, sum.time, account.time].filter((time) => Math.abs(time) <= maxTime);
  const time = Math.max(...times);
  const expected = fieldsOf(rebuilt ?? emptyAccount(program, userId, time), program, time);
  const actual = fieldsOf(account, program, time);
  const different = [...new Set([...expected.keys(), ...actual.keys()])]
    .map((field) => ({
      field,
      expected: expected.get(field) ?? "0",
      actual: actual.get(field) ?? "0",
    }))
    .filter((difference) => difference.expected !== difference.actual);
  return [...different, ...timeDifferences(account, sum), ...boundDifferences(account, rebuilt)];
}

/** The time of a decision is mostly not that of an entry, but it is one. */
const timeDifferences = ({ time }: Account, sum: LedgerSum): Difference[] =>
  Math.abs(time) <= maxTime
    ? []
    : [{ field: "time", expected: String(sum.time), actual: String(time) }];

/** The sweep finds an account by `oldest`, so it must not be later than the oldest month. */
function boundDifferences({ oldest }: Account, rebuilt: Account | undefined): Difference[] {
  if (rebuilt?.oldest === undefined || (oldest ?? Number.POSITIVE_INFINITY) <= rebuilt.oldest) {
    return [];
  }
  const actual = oldest === undefined ? "none" : formatMonth(oldest);
  return [{ field: "oldest_month", expected: formatMonth(rebuilt.oldest), actual }];
}

/** Returns the fields that are compared, by name. */
function fieldsOf(stored: Account, program: Program, now: Instant): Map<string, string> {
  const { account, entries } = rotated(stored, program, now);
  return new Map<string, string>([
    ["month", formatMonth(account.month)],
    ["lifetime", String(account.slots.length)],
    ["frozen", String(account.frozen)],
    ["last", String(account.last - entries.length)],
    ["available_points", String(availablePointsOf(account))],
    ...Object.entries(account.totals).map(([name, points]): [string, string] => [
      `totals.${name.replace("Points", "_points")}`,
      String(points),
    ]),
    ...buckets(account).map(({ month, points }): [string, string] => [
      `buckets[${formatMonth(month)}]`,
      String(points),
    ]),
  ]);
}

/**
 * Returns the account at `now`. A damaged account that cannot be rotated is returned as stored: its
 * ring is longer than the program's lifetime, its month or time is not a valid number, or an
 * attribute was missing.
 */
function rotated(account: Account, program: Program, now: Instant) {
  const { month, time, slots } = account;
  const isInvalid = !Number.isSafeInteger(month) || !(Math.abs(time) <= maxTime);
  const isTooLong = slots.length > lifetimeAt(program, now);
  return isInvalid || isTooLong || isDamaged(account)
    ? { account, entries: [] }
    : expireDue(account, program, now);
}
