/** The use cases that read holds. */
import type { Hold, HoldState } from "../../domain/hold.ts";
import type { Deps } from "../ports/deps.ts";
import type { HoldName } from "../ports/holds.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import type { AccountName } from "../ports/points.ts";
import { holdRef } from "../ports/records.ts";
import { holdNotFound } from "./change-hold.ts";

/** Reads one hold. Refusal: HOLD_NOT_FOUND. */
export async function getHold({ reader }: Pick<Deps, "reader">, name: HoldName): Promise<Hold> {
  const found = await reader.get(holdRef(name));
  if (!found) throw holdNotFound(name.holdId);
  return found.value;
}

/**
 * Lists an account's holds, latest `until` first. It lags behind by moments. With a state, pages
 * may be short or empty while there are more. Refusals: PROGRAM_NOT_FOUND, INVALID_REQUEST for a
 * bad cursor.
 */
export async function listHolds(
  { programs, reader }: Pick<Deps, "reader" | "programs">,
  account: AccountName,
  state: HoldState | undefined,
  page: PageRequest,
): Promise<Page<Hold>> {
  await programs.get(account.programId);
  return reader.holdsOfUser(account, state, page);
}
