import type { Account } from "./account.ts";
import { balanceOf, buckets, emptyAccount, settle, slotOf } from "./account.ts";
import type { LedgerEntry, Totals } from "./ledger.ts";
import type { Instant, Month } from "./month.ts";
import { formatMonth, monthAt } from "./month.ts";
import type { Program } from "./program.ts";
import { lifetimeAt } from "./program.ts";

/** A place where an account and its ledger disagree; `expected` is what the ledger says. */
export interface Difference {
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
}

/** A ledger added up so far. */
export interface Replay {
  readonly months: Map<Month, number>;
  readonly totals: Record<keyof Totals, number>;
  frozen: boolean;
  last: number;
  time: Instant;
  /** Faults of the ledger itself: gaps, balances that do not follow, times that go back. */
  readonly faults: Difference[];
}

export function startReplay(): Replay {
  const totals = { issued: 0, used: 0, expired: 0, refunded: 0, revoked: 0 };
  return { months: new Map(), totals, frozen: false, last: 0, time: 0, faults: [] };
}

/** Adds one entry, without looking at its type. Entries come in the order of their numbers. */
export function replayEntry(replay: Replay, entry: LedgerEntry): void {
  const fault = (field: string, expected: unknown, actual: unknown) =>
    replay.faults.push({
      field: `entries[${entry.number}].${field}`,
      expected: String(expected),
      actual: String(actual),
    });
  if (entry.number !== replay.last + 1) fault("number", replay.last + 1, entry.number);
  if (entry.createTime < replay.time) fault("create_time", replay.time, entry.createTime);
  for (const { month, points } of entry.changes) {
    replay.months.set(month, (replay.months.get(month) ?? 0) + points);
  }
  let balance = 0;
  for (const [month, points] of replay.months) {
    if (points === 0) replay.months.delete(month);
    balance += points;
  }
  if (entry.balance !== balance) fault("balance", balance, entry.balance);
  if (entry.total) replay.totals[entry.total] += entry.points;
  replay.frozen = entry.frozen;
  replay.last = entry.number;
  replay.time = entry.createTime;
}

/** The account that the ledger adds up to; absent for an empty ledger. */
export function rebuild(replay: Replay, program: Program, user: string): Account | undefined {
  if (replay.last === 0) return undefined;
  const { months, totals, frozen, last, time } = replay;
  const lifetime = lifetimeAt(program, time);
  const slots = Array<number>(lifetime).fill(0);
  for (const [month, points] of months) slots[slotOf(month, lifetime)] = points;
  const month = monthAt(program.zone, time);
  const account = { program: program.id, user, month, slots, totals, frozen, last, time };
  const oldest = Math.min(...months.keys());
  return Number.isFinite(oldest) ? { ...account, oldest } : account;
}

/** Everything in which `account` differs from its ledger, both turned to the same instant. */
export function compare(
  account: Account | undefined,
  replay: Replay,
  program: Program,
  user: string,
  now: Instant,
): Difference[] {
  const time = Math.max(now, replay.time, account?.time ?? 0);
  const expected = rebuild(replay, program, user);
  if (!account || !expected) {
    const count = String(replay.last);
    if (!account && !expected) return replay.faults;
    if (!account) return [...replay.faults, { field: "last", expected: count, actual: "0" }];
  }
  const want = facts(expected ?? emptyAccount(program, user, time), program, time);
  const have = facts(account, program, time);
  const fields = [...new Set([...want.keys(), ...have.keys()])];
  const differences = fields
    .map((field) => ({
      field,
      expected: want.get(field) ?? "0",
      actual: have.get(field) ?? "0",
    }))
    .filter(({ expected: wanted, actual }) => wanted !== actual);
  return [...replay.faults, ...differences];
}

/** All that is compared, by name. */
function facts(before: Account, program: Program, now: Instant): Map<string, string> {
  const { account, entries } = settle(before, program, now);
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
