/** Reads an account and the reservations of its user whose points are still to come. */

import { type CallLimits, requireTime } from "../../platform/ports/call.ts";
import { allPages, inBatches } from "../../platform/ports/pages.ts";
import { DomainError } from "../../platform/words/errors.ts";
import type { Instant } from "../../platform/words/month.ts";
import type { AccountName } from "../../points/ports/points.ts";
import { accountRef } from "../../points/ports/records.ts";
import type { Account } from "../../points/rules/account.ts";
import { type Balance, balanceAt } from "../../points/use-cases/queries.ts";
import type { Deps } from "../ports/deps.ts";
import { reservationRef } from "../ports/records.ts";
import { isOutstanding } from "../rules/forecast.ts";
import type { Reservation } from "../rules/reservation.ts";

const pageSize = 200;

/** More pending reservations of one user are not read. */
const maxPending = 1_000;

/** How many reservations are read at once. */
const readSize = 100;

/** An account with its version, and what is reserved for it. */
interface Outstanding {
  /** Undefined when the account does not exist. */
  readonly stored: { readonly value: Account; readonly version: number } | undefined;
  readonly reservations: readonly Reservation[];
}

/**
 * Reads the account and the pending reservations that are due up to `until`, or all. Reservations
 * that were changed a moment ago may be missing. Those that are found are neither lost nor counted
 * twice when they are granted meanwhile: their records are read again after the account, and a
 * grant that the account does not have yet has a later entry number. Refusal: LIMIT_EXCEEDED for
 * more than 1,000.
 */
export async function readOutstanding(
  deps: Pick<Deps, "reader">,
  name: AccountName,
  until: Instant | undefined,
  call: CallLimits,
): Promise<Outstanding> {
  const { programId, userId } = name;
  const ids = await pendingIds(deps, name, until, call);
  const stored = await deps.reader.get(accountRef(programId, userId));
  const found = await readReservations(deps, programId, ids);
  const reservations = found.filter((each) => isOutstanding(each, stored?.value.last ?? 0));
  return { stored, reservations };
}

/** As `getBalance`, with what is reserved. Refusals: also those of `readOutstanding`. */
export async function getBalanceWithPending(
  deps: Pick<Deps, "reader" | "clock" | "programs">,
  name: AccountName,
  call: CallLimits,
): Promise<Balance> {
  const program = await deps.programs.get(name.programId);
  const { stored, reservations } = await readOutstanding(deps, name, undefined, call);
  const { calendar } = await deps.clock.now();
  const pendingPoints = reservations.reduce((sum, { points }) => sum + points, 0);
  return { ...balanceAt(program, name, stored, calendar), pendingPoints };
}

/** The ids of the user's pending reservations up to a time, by the index, which lags behind. */
async function pendingIds(
  { reader }: Pick<Deps, "reader">,
  name: AccountName,
  until: Instant | undefined,
  call: CallLimits,
): Promise<string[]> {
  const ids: string[] = [];
  const window = { start: undefined, end: until === undefined ? undefined : until + 1 };
  const pages = allPages(pageSize, (page) =>
    reader.reservationsOfUserInState(name, "PENDING", window, page),
  );
  for await (const reservations of pages) {
    requireTime(call);
    const pending = reservations.filter(({ state }) => state === "PENDING");
    ids.push(...pending.map(({ reservationId }) => reservationId));
    if (ids.length > maxPending) {
      throw new DomainError("LIMIT_EXCEEDED", `more than ${maxPending} reservations are pending`, {
        limit: String(maxPending),
      });
    }
  }
  return ids;
}

async function readReservations(
  { reader }: Pick<Deps, "reader">,
  programId: string,
  ids: readonly string[],
): Promise<Reservation[]> {
  const reservations: Reservation[] = [];
  for (const batch of inBatches(ids, readSize)) {
    const read = await reader.many(batch.map((id) => reservationRef(programId, id)));
    reservations.push(...read.filter((each) => each !== undefined));
  }
  return reservations;
}
