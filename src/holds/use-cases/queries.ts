/** The use cases that read holds. */

import type { HoldName } from "../../due/ports/due.ts";
import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import { fullPage } from "../../platform/work/full-page.ts";
import type { AccountName } from "../../points/ports/points.ts";
import type { EventKey } from "../../points/rules/ledger.ts";
import type { Deps } from "../ports/deps.ts";
import { holdRef } from "../ports/records.ts";
import type { Hold, HoldState } from "../rules/hold.ts";
import { holdNotFound } from "./change-hold.ts";

/** Reads one hold, and its captures in their order. Refusal: HOLD_NOT_FOUND. */
export async function getHold(
  { reader }: Pick<Deps, "reader">,
  name: HoldName,
): Promise<{ readonly hold: Hold; readonly captures: readonly EventKey[] }> {
  const hold = (await reader.get(holdRef(name)))?.value;
  if (!hold) throw holdNotFound(name.holdId);
  const captures = hold.captureCount === 0 ? [] : await reader.capturesOf(hold);
  return { hold, captures: captures.toSorted((a, b) => a.entry.number - b.entry.number) };
}

/**
 * Lists an account's holds, of one state if it is given, latest `until` first, in full pages
 * (`fullPage`). Lags behind by moments. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a bad
 * cursor.
 */
export async function listHolds(
  { programs, reader }: Pick<Deps, "reader" | "programs">,
  account: AccountName,
  state: HoldState | undefined,
  page: PageRequest,
): Promise<Page<Hold>> {
  await programs.get(account.programId);
  return fullPage(page, {
    read: (next) => reader.holdsOfUser(account, next),
    show: async (found) => found.filter((each) => state === undefined || each.state === state),
    cursorAfter: reader.cursorOfHoldsAfter,
  });
}
