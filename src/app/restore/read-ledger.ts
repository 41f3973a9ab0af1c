/** Reads a whole ledger, as it is stored. */
import type { LedgerEntry } from "../../domain/ledger.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages } from "../ports/pages.ts";
import type { AccountName } from "../ports/points.ts";

/** The number of items of one read. */
const pageSize = 500;

/** All entries of a ledger, page by page. */
export const readLedger = (
  { reader }: Pick<Deps, "reader">,
  account: AccountName,
): AsyncGenerator<readonly LedgerEntry[]> =>
  allPages(pageSize, (page) => reader.storedEntries(account, page));
