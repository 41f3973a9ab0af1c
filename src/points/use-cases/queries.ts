/** The use cases that read balances and ledgers. */

import { holdRef } from "../../holds/ports/records.ts";
import { entryOfEvent, holdOfEvent } from "../../holds/rules/hold.ts";
import type { Page, PageRequest, Window } from "../../platform/ports/pages.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { type Instant, monthStart, parseMonth } from "../../platform/words/month.ts";
import type { Deps as ReservationDeps } from "../../reservations/ports/deps.ts";
import { readOutstanding } from "../../reservations/use-cases/outstanding.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef, eventRef } from "../ports/records.ts";
import {
  type Account,
  availablePointsOf,
  type Bucket,
  buckets,
  emptyAccount,
  expireDue,
} from "../rules/account.ts";
import {
  type EntryType,
  type EventName,
  eventName,
  heldNow,
  type LedgerEntry,
  parseEventName,
} from "../rules/ledger.ts";
import { expireTime, firstExpireTime, maxLifetimeMonths, type Program } from "../rules/program.ts";

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

/** As `getBalance`, with what is reserved. Refusals: also those of `readOutstanding`. */
export async function getBalanceWithPending(
  deps: Pick<ReservationDeps, "reader" | "clock" | "programs">,
  name: AccountName,
  deadline: number | undefined,
): Promise<Balance> {
  const program = await deps.programs.get(name.programId);
  const { stored, reservations } = await readOutstanding(deps, name, undefined, deadline);
  const { calendar } = await deps.clock.now();
  const pendingPoints = reservations.reduce((sum, { points }) => sum + points, 0);
  return { ...balanceAt(program, name, stored, calendar), pendingPoints };
}

/** The balance of an account as it is stored, if it is, after the expiry of what is due. */
function balanceAt(
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
 * Returns an entry by its number or its event. Refusals: PROGRAM_NOT_FOUND,
 * LEDGER_ENTRY_NOT_FOUND.
 */
export async function getLedgerEntry(
  deps: Pick<Deps, "reader" | "programs">,
  name: AccountName,
  numberOrEvent: number | EventName,
): Promise<LedgerEntry> {
  const { programId, userId } = name;
  const program = await deps.programs.get(programId);
  const entry =
    typeof numberOrEvent === "number"
      ? (await deps.reader.get(entryRef(programId, userId, numberOrEvent)))?.value
      : await findByEvent(deps, program, name, numberOrEvent);
  if (!entry) throw new DomainError("LEDGER_ENTRY_NOT_FOUND", "there is no such ledger entry");
  return entry;
}

async function findByEvent(
  deps: Pick<Deps, "reader">,
  program: Program,
  name: AccountName,
  event: EventName,
): Promise<LedgerEntry | undefined> {
  if (event.origin === "x") return findExpiry(deps, program, name, event.eventId);
  const { programId, userId } = name;
  if (event.origin === "h") {
    const number = await numberInHold(deps, name, event.eventId);
    if (number === undefined) return undefined;
    return (await deps.reader.get(entryRef(programId, userId, number)))?.value;
  }
  const ref = eventRef(programId, userId, eventName(event));
  return (await deps.reader.get(ref))?.value.entry;
}

/** The number of the entry of a hold's event: the hold is the record of its events. */
async function numberInHold(
  { reader }: Pick<Deps, "reader">,
  { programId, userId }: AccountName,
  eventId: string,
): Promise<number | undefined> {
  const hold = (await reader.get(holdRef({ programId, holdId: holdOfEvent(eventId) })))?.value;
  return hold?.userId === userId ? entryOfEvent(hold, eventId) : undefined;
}

/**
 * Finds the entry of an expiry, which has no event key. The expiry of a month, `2026-11`, is among
 * the first entries recorded after the month's points have expired, a later one, `2026-11/2028-10`,
 * after the end of the month that it names. An expiry that a refund or a release caused,
 * `2026-11/c:id`, follows the entry of that.
 */
async function findExpiry(
  deps: Pick<Deps, "reader">,
  program: Program,
  name: AccountName,
  eventId: string,
): Promise<LedgerEntry | undefined> {
  const [, month, end, cause] = expiryForm.exec(eventId) ?? [];
  if (month === undefined) return undefined;
  const expire = end
    ? monthStart(program.timeZone, parseMonth(end) + 1)
    : firstExpireTime(program, parseMonth(month));
  const account = await deps.reader.get(accountRef(name.programId, name.userId));
  const last = account?.value.last ?? 0;
  const from = cause
    ? (await findByEvent(deps, program, name, parseEventName(cause)))?.number
    : await firstSince(deps, name, expire, last, 1);
  if (from === undefined) return undefined;
  const query = {
    from,
    to: from + maxLifetimeMonths,
    newestFirst: false,
    types: ["EXPIRED"],
  } as const;
  const page = await deps.reader.entries(name, query, {
    size: maxLifetimeMonths + 1,
    cursor: undefined,
  });
  return page.items.find(({ event }) => event.eventId === eventId);
}

/** The event id of an expiry: its month, and what distinguishes a further one of that month. */
const expiryForm = /^([12]\d{3}-\d\d)(?:\/(?:([12]\d{3}-\d\d)|(.+)))?$/;

/**
 * Returns the number of the first entry recorded at `time` or later; `unbounded` without a time.
 * Times never go back within an account, so a binary search finds it.
 */
async function firstSince(
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
