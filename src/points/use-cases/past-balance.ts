/** The use case that reads the balance of a past instant. */

import { type CallLimits, requireTime } from "../../platform/ports/call.ts";
import { allPages, eachOf } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef } from "../ports/records.ts";
import { type Account, emptyAccount, expireDue } from "../rules/account.ts";
import { type LedgerEntry, lateEntriesMs } from "../rules/ledger.ts";
import {
  accountByEntries,
  ledgerDamaged,
  programAsOf,
  requirePast,
  snapshotInterval,
} from "../rules/past.ts";
import type { Program } from "../rules/program.ts";
import { type Balance, balanceOf } from "./queries.ts";

/** The dependencies of a read of the past. */
type PastDeps = Pick<Deps, "reader" | "engine">;

/**
 * Returns the balance as it was at `asOf`, after every entry recorded at this instant or before,
 * with the lifetime that was in force. Its version is 0, because no entry has the version of the
 * account. It is final if the account has changed later, because times never go back within an
 * account, or if the instant is `lateEntriesMs` ago. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST
 * for an instant that is still to come, LEDGER_DAMAGED. Throws DEADLINE.
 */
export async function getPastBalance(
  deps: PastDeps & Pick<Deps, "clock" | "programs">,
  name: AccountName,
  asOf: Instant,
  call?: CallLimits,
): Promise<Balance> {
  const { programId, userId } = name;
  const program = await deps.programs.get(programId);
  const { calendar } = await deps.clock.now();
  requirePast(asOf, calendar);
  // By the clock before the account is read: what could be added until then is read, too.
  const isLongAgo = asOf <= calendar - lateEntriesMs;
  const stored = (await deps.reader.get(accountRef(programId, userId)))?.value;
  const present = { ...(stored ?? emptyAccount(program, userId, asOf)), ...name };
  const account = await readPastAccount(deps, program, present, asOf, call);
  const final = isLongAgo || asOf < present.time;
  return { ...balanceOf(account, programAsOf(program, asOf), 0), final };
}

/**
 * Returns a stored account as it was at `asOf`. Reads nothing if it has not changed since. Throws
 * LEDGER_DAMAGED and DEADLINE.
 */
export async function readPastAccount(
  deps: PastDeps,
  program: Program,
  account: Account,
  asOf: Instant,
  call?: CallLimits,
): Promise<Account> {
  // Not ">=": the time of a damaged account is NaN, and the account has to be refused.
  if (!(asOf < account.time)) return expireDue(account, programAsOf(program, asOf), asOf).account;
  const entries = await entriesUpTo(deps, account, account.last, asOf, call);
  return accountByEntries(program, account.userId, entries, asOf);
}

/**
 * The entries up to `asOf`, newest first, down to the latest one that has a snapshot, or to number
 * 1. The number behind the newest one must be that of a later entry.
 */
async function entriesUpTo(
  deps: PastDeps,
  name: AccountName,
  last: number,
  asOf: Instant,
  call: CallLimits | undefined,
): Promise<LedgerEntry[]> {
  const first = snapshotInterval * (await intervalsUpTo(deps, name, last, asOf, call));
  const to = Math.min(first + snapshotInterval - 1, last);
  const query = { from: 1, to, newestFirst: true, types: [] };
  const pages = allPages(snapshotInterval, (page) => {
    requireTime(call);
    return deps.reader.entries(name, query, page);
  });
  const found: LedgerEntry[] = [];
  // Nothing follows the last entry of the account, and the multiple of the interval was read.
  let later = to + 1;
  for await (const entry of eachOf(pages)) {
    if (entry.createTime > asOf) later = entry.number;
    else found.push(entry);
    if (found.at(-1)?.snapshot) break;
  }
  const next = (found[0]?.number ?? 0) + 1;
  if (next < later) await requireCommitted(deps, name, next, call);
  return found;
}

/**
 * Counts the numbers that are multiples of the interval and whose entries were recorded at `asOf`
 * or before, by a binary search: times never go back within an account.
 */
async function intervalsUpTo(
  deps: PastDeps,
  name: AccountName,
  last: number,
  asOf: Instant,
  call: CallLimits | undefined,
): Promise<number> {
  const { programId, userId } = name;
  let low = 0;
  let high = Math.floor(last / snapshotInterval);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const number = middle * snapshotInterval;
    const entry = await deps.reader.get(entryRef(programId, userId, number));
    if (!entry) await requireCommitted(deps, name, number, call);
    if (entry && entry.value.createTime <= asOf) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Throws LEDGER_DAMAGED when an entry that was not read does not exist. A read may show the account
 * before the entries of its last transaction. They have its time, so they are later than `asOf`.
 * The engine reads the account at a moment at which no transaction holds it. The entry is read
 * after that, by a query, which also finds one that is packed behind others of its item.
 */
async function requireCommitted(
  { engine, reader }: PastDeps,
  { programId, userId }: AccountName,
  number: number,
  call: CallLimits | undefined,
): Promise<void> {
  const account = accountRef(programId, userId);
  const entry = entryRef(programId, userId, number);
  await engine.transact({
    key: account,
    readSet: [account],
    expectAbsent: [entry],
    call,
    // The records of a decision are read at one moment if there is more than one.
    decide: (tx) => [tx.get(account), tx.get(entry)],
  });
  if (!(await reader.get(entry))) throw ledgerDamaged(number);
}
