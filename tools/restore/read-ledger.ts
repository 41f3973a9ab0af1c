/** Reads a whole ledger, as it is stored. */

import type { Deps } from "../../src/hub/deps.ts";
import { allPages } from "../../src/platform/ports/pages.ts";
import type { AccountName } from "../../src/points/ports/points.ts";
import type { LedgerEntry } from "../../src/points/rules/ledger.ts";

/** The number of items of one read. */
const pageSize = 500;

/** All entries of a ledger, page by page. */
export const readLedger = (
  { reader }: Pick<Deps, "reader">,
  account: AccountName,
): AsyncGenerator<readonly LedgerEntry[]> =>
  allPages(pageSize, (page) => reader.storedEntries(account, page));
