/** The use case that reads an entry by its number or its event, which may be one of a hold. */

import { DomainError } from "../../platform/words/errors.ts";
import { monthStart, parseMonth } from "../../platform/words/month.ts";
import type { AccountName } from "../../points/ports/points.ts";
import { accountRef, entryRef, eventRef } from "../../points/ports/records.ts";
import { firstExpireTime } from "../../points/rules/account.ts";
import {
  type EventName,
  eventName,
  type LedgerEntry,
  parseEventName,
} from "../../points/rules/ledger.ts";
import { maxLifetimeMonths, type Program } from "../../points/rules/program.ts";
import { firstSince } from "../../points/use-cases/queries.ts";
import type { Deps } from "../ports/deps.ts";
import { holdRef } from "../ports/records.ts";
import { entryOfEvent, holdOfEvent, isInHold } from "../rules/hold.ts";

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
  if (isInHold(event)) {
    const number = await numberInHold(deps, name, event.eventId);
    if (number === undefined) return undefined;
    return (await deps.reader.get(entryRef(programId, userId, number)))?.value;
  }
  const ref = eventRef(programId, userId, eventName(event));
  return (await deps.reader.get(ref))?.value.entry;
}

/** The number of the entry of an event of which the hold is the record. */
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
