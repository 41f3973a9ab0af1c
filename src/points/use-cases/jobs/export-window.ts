/** Reads what the ledgers of a segment have of a window of time: only of accounts that changed. */

import type { Page } from "../../../platform/ports/pages.ts";
import type { Instant } from "../../../platform/words/month.ts";
import type { Deps } from "../../ports/deps.ts";
import type { ExportWindow } from "../../ports/exports.ts";
import type { StoredEntry } from "../../ports/points.ts";
import type { Account } from "../../rules/account.ts";
import { accountPages } from "./account-pages.ts";
import type { Segment } from "./jobs.ts";

/** The accounts whose ledgers are read at a time. */
const together = 16;

/** The number of items of a ledger that one read has. Most windows have fewer. */
const ledgerPage = 64;

/** The search for the beginning of a window ends when it may skip no more entries than these. */
const fewEntries = 32;

type ReaderDeps = Pick<Deps, "reader">;

/**
 * Returns a function that reads the entries at a cursor, in the order of the accounts and of their
 * numbers. Some that are not in the window may be among them. Pages may be empty.
 */
export function windowReader(
  deps: ReaderDeps,
  programId: string,
  window: ExportWindow,
  segment: Segment,
): (cursor: string | undefined) => Promise<Page<StoredEntry>> {
  const accountsAt = accountPages<string>(deps, programId, segment);
  return async (cursor) => {
    const { accounts, progress, cursorOf } = await accountsAt(cursor);
    // A ledger that goes on is read alone, because what is read behind it is read again.
    const most = progress === undefined ? together : 1;
    const chosen = changed(accounts, window).slice(0, most);
    const pages = await Promise.all(
      chosen.map((index) =>
        readWindow(deps, accounts[index] as Account, window, index === 0 ? progress : undefined),
      ),
    );
    const last = pages.findIndex(({ cursor }) => cursor !== undefined);
    if (last >= 0) {
      const items = pages.slice(0, last + 1).flatMap((page) => page.items);
      return { items, cursor: cursorOf(chosen[last] as number, pages[last]?.cursor) };
    }
    const next = chosen.length < most ? accounts.length : (chosen.at(-1) as number) + 1;
    return { items: pages.flatMap((page) => page.items), cursor: cursorOf(next) };
  };
}

/**
 * The indexes of the accounts that have changed since the beginning of a window. The time of an
 * account is never behind its last entry. That of a damaged one is NaN, and its ledger is read.
 */
const changed = (accounts: readonly Account[], { start = 0 }: ExportWindow): number[] =>
  [...accounts.keys()].filter((index) => !((accounts[index] as Account).time < start));

/** Reads a page of a ledger, from the beginning of the window or from a cursor on. */
async function readWindow(
  deps: ReaderDeps,
  account: Account,
  { start, end }: ExportWindow,
  cursor: string | undefined,
): Promise<Page<StoredEntry>> {
  const isBegun = cursor !== undefined || start === undefined;
  const from = isBegun ? 1 : await firstWithin(deps, account, start);
  const page = await deps.reader.ledgerFrom(account, from, { size: ledgerPage, cursor });
  const latest = page.items.at(-1)?.entry?.createTime ?? 0;
  return latest >= end ? { items: page.items } : page;
}

/**
 * A number at or before the first entry of a window, and few entries before it, by a search from
 * the end: times never go back within an account. An item that cannot be read is no end of it.
 */
export async function firstWithin(
  { reader }: ReaderDeps,
  account: Account,
  start: Instant,
): Promise<number> {
  const isBefore = async (number: number) => {
    const { items } = await reader.ledgerFrom(account, number, { size: 1, cursor: undefined });
    return (items[0]?.entry?.createTime ?? start) < start;
  };
  let low = 1;
  let high = account.last + 1;
  for (let back = fewEntries; low === 1 && back < account.last; back *= 2) {
    const number = account.last - back;
    if (await isBefore(number)) low = number;
    else high = number;
  }
  while (high - low > fewEntries) {
    const middle = Math.floor((low + high) / 2);
    if (await isBefore(middle)) low = middle;
    else high = middle;
  }
  return low;
}
