/** The use cases that read balances and ledgers. */

import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef } from "../ports/records.ts";
import {
  type Account,
  availablePointsOf,
  type Bucket,
  buckets,
  emptyAccount,
  expireDue,
  expireTime,
} from "../rules/account.ts";
import { type EntryType, heldNow, type LedgerEntry } from "../rules/ledger.ts";
import type { Program } from "../rules/program.ts";

/** The points of an account at an instant. */
export interface Balance {
  readonly account: Account;
  readonly availablePoints: number;
  readonly heldPoints: number;
  /** Months with points, oldest first. */
  readonly buckets: readonly (Bucket & { readonly expireTime: Instant })[];
  /** The version of the stored account; 0 when it does not exist, and of a past instant. */
  readonly version: number;
  /** The points of its reservations that are not granted yet; absent unless they were read. */
  readonly pendingPoints?: number;
  /** Whether the balance of a past instant can never change; absent of now. */
  readonly final?: boolean;
}

/**
 * Returns the balance after the expiry of what is due, so that it is right at the first instant of
 * a month, even before the month-end sweep. Refusal: PROGRAM_NOT_FOUND.
 */
export async function getBalance(
  deps: Pick<Deps, "reader" | "clock" | "programs">,
  name: AccountName,
): Promise<Balance> {
  const program = await deps.programs.get(name.programId);
  const stored = await deps.reader.get(accountRef(name.programId, name.userId));
  const { calendar } = await deps.clock.now();
  return balanceAt(program, name, stored, calendar);
}

/** The balance of an account as it is stored, if it is, after the expiry of what is due. */
export function balanceAt(
  program: Program,
  { userId }: AccountName,
  stored: { readonly value: Account; readonly version: number } | undefined,
  now: Instant,
): Balance {
  const before = stored?.value ?? emptyAccount(program, userId, now);
  const { account } = expireDue(before, program, now);
  return balanceOf(account, program, stored?.version ?? 0);
}

/** The balance of an account in which nothing is due. */
export const balanceOf = (account: Account, program: Program, version: number): Balance => ({
  account,
  availablePoints: availablePointsOf(account),
  heldPoints: heldNow(account.totals),
  buckets: buckets(account).map((bucket) => ({
    ...bucket,
    expireTime: expireTime(program, bucket.month, account.time),
  })),
  version,
});

/**
 * Lists the entries recorded in `window`. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a bad
 * cursor.
 */
export async function listLedgerEntries(
  deps: Pick<Deps, "reader" | "programs">,
  name: AccountName,
  query: {
    readonly newestFirst: boolean;
    readonly types: readonly EntryType[];
    readonly window: Window;
  },
  page: PageRequest,
): Promise<Page<LedgerEntry>> {
  await deps.programs.get(name.programId);
  const { newestFirst, types, window } = query;
  const account = await deps.reader.get(accountRef(name.programId, name.userId));
  const last = account?.value.last ?? 0;
  const from = await firstSince(deps, name, window.start, last, 1);
  const to = (await firstSince(deps, name, window.end, last, last + 1)) - 1;
  // A page with a cursor is always read, because the reader validates the cursor.
  if (from > to && page.cursor === undefined) return { items: [] };
  return deps.reader.entries(name, { from, to, newestFirst, types }, page);
}

/**
 * Returns the number of the first entry recorded at `time` or later; `unbounded` without a time.
 * Times never go back within an account, so a binary search finds it.
 */
export async function firstSince(
  deps: Pick<Deps, "reader">,
  { programId, userId }: AccountName,
  time: Instant | undefined,
  last: number,
  unbounded: number,
): Promise<number> {
  if (time === undefined) return unbounded;
  let low = 1;
  let high = last + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const entry = await deps.reader.get(entryRef(programId, userId, middle));
    if (entry && entry.value.createTime < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
