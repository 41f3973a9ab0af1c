/** The use case that reads the balance of a past instant. */
import { type Account, emptyAccount } from "../../domain/account.ts";
import type { LedgerEntry } from "../../domain/ledger.ts";
import type { Instant } from "../../domain/month.ts";
import {
  accountAsOf,
  accountByEntries,
  programAsOf,
  requirePast,
  snapshotInterval,
} from "../../domain/past.ts";
import type { Program } from "../../domain/program.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages } from "../ports/pages.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef } from "../ports/records.ts";
import { requireTime } from "../shared/deadlines.ts";
import { type Balance, balanceOf } from "./queries.ts";

/**
 * Returns the balance as it was at `asOf`, after every entry recorded at this instant or before,
 * with the lifetime that was in force. Its version is 0, because no entry has the version of the
 * account. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for an instant that is still to come,
 * LEDGER_DAMAGED. Throws DEADLINE.
 */
export async function getPastBalance(
  deps: Pick<Deps, "reader" | "clock" | "programs">,
  name: AccountName,
  asOf: Instant,
  deadline?: number,
): Promise<Balance> {
  const { programId, userId } = name;
  const program = await deps.programs.get(programId);
  const { calendar } = await deps.clock.now();
  requirePast(asOf, calendar);
  const stored = (await deps.reader.get(accountRef(programId, userId)))?.value;
  const present = { ...(stored ?? emptyAccount(program, userId, asOf)), ...name };
  const account = await readPastAccount(deps, program, present, asOf, deadline);
  return balanceOf(account, programAsOf(program, asOf), 0);
}

/**
 * Returns a stored account as it was at `asOf`. Reads nothing if it has not changed since. Throws
 * LEDGER_DAMAGED and DEADLINE.
 */
export async function readPastAccount(
  deps: Pick<Deps, "reader">,
  program: Program,
  account: Account,
  asOf: Instant,
  deadline?: number,
): Promise<Account> {
  if (asOf >= account.time) return accountAsOf(program, account, [], asOf);
  const entries = await entriesUpTo(deps, account, account.last, asOf, deadline);
  return accountByEntries(program, account.userId, entries, asOf);
}

/**
 * The entries up to `asOf`, newest first, down to the latest one that has a snapshot, or to number
 * 1. A read may show the account before the entries of its last transaction; these have its time,
 * which is later than `asOf`, so they are not missed.
 */
async function entriesUpTo(
  deps: Pick<Deps, "reader">,
  name: AccountName,
  last: number,
  asOf: Instant,
  deadline: number | undefined,
): Promise<LedgerEntry[]> {
  const first = snapshotInterval * (await intervalsUpTo(deps, name, last, asOf));
  const to = Math.min(first + snapshotInterval - 1, last);
  const query = { from: 1, to, newestFirst: true, types: [] };
  const pages = allPages(snapshotInterval, (page) => {
    requireTime(deadline);
    return deps.reader.entries(name, query, page);
  });
  const found: LedgerEntry[] = [];
  for await (const entries of pages) {
    for (const entry of entries.filter(({ createTime }) => createTime <= asOf)) {
      found.push(entry);
      if (entry.snapshot) return found;
    }
  }
  return found;
}

/**
 * Counts the numbers that are multiples of the interval and whose entries were recorded at `asOf`
 * or before, by a binary search: times never go back within an account.
 */
async function intervalsUpTo(
  deps: Pick<Deps, "reader">,
  { programId, userId }: AccountName,
  last: number,
  asOf: Instant,
): Promise<number> {
  let low = 0;
  let high = Math.floor(last / snapshotInterval);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const entry = await deps.reader.get(entryRef(programId, userId, middle * snapshotInterval));
    if (entry && entry.value.createTime <= asOf) low = middle;
    else high = middle - 1;
  }
  return low;
}
