/** The accounts of a segment, from any of them on, however little of a page a step has done. */

import type { Page } from "../../../platform/ports/pages.ts";
import type { Deps } from "../../ports/deps.ts";
import type { Account } from "../../rules/account.ts";
import type { Segment } from "./jobs.ts";

/** The number of accounts that one page of the scan reads. */
const scanPage = 1_000;

/**
 * Where a segment continues: at the beginning of a page, or at an account. Payloads contain it as
 * JSON, so its property names do not change.
 */
interface SegmentCursor<Progress> {
  /** The reader's cursor before the account; undefined for the first one. */
  readonly scan?: string | undefined;
  readonly userId?: string | undefined;
  /** The progress within the account. */
  readonly progress?: Progress | undefined;
}

/** The accounts of a page, from a cursor on. */
interface AccountsAt<Progress> {
  readonly accounts: readonly Account[];
  /** The progress within the first of them. */
  readonly progress: Progress | undefined;
  /** The cursor of one of them, by its index, and behind the last one that of the next page. */
  cursorOf(index: number, progress?: Progress): string | undefined;
}

/**
 * Returns a function that reads the accounts at a cursor. It keeps the latest page of the scan. A
 * cursor leads to its account however many others have come since, which move the ends of pages.
 */
export function accountPages<Progress>(
  { reader }: Pick<Deps, "reader">,
  programId: string,
  { segment, segments }: Segment,
): (cursor: string | undefined) => Promise<AccountsAt<Progress>> {
  let scanned: (Page<Account> & { readonly scan: string | undefined }) | undefined;
  return async (cursor) => {
    const { scan, userId, progress } = parsed<Progress>(cursor);
    const indexIn = (items: readonly Account[]) =>
      items.findIndex((each) => each.userId === userId);
    if (!scanned || (scanned.scan !== scan && indexIn(scanned.items) < 0)) {
      const request = { size: scanPage, cursor: scan };
      scanned = { ...(await reader.accounts(programId, segment, segments, request)), scan };
    }
    const { items, cursor: next, scan: start } = scanned;
    const first = Math.max(indexIn(items), 0);
    const accounts = items.slice(first);
    return {
      accounts,
      progress: accounts[0]?.userId === userId ? progress : undefined,
      cursorOf(index, progress) {
        const account = accounts[index];
        if (!account) return next;
        const before = items[first + index - 1];
        const scan = before ? reader.cursorOfAccount(before) : start;
        return JSON.stringify({ scan, userId: account.userId, progress });
      },
    };
  };
}

/** Parses a cursor. Between two pages it is the reader's own cursor, without a `userId`. */
function parsed<Progress>(cursor: string | undefined): SegmentCursor<Progress> {
  if (cursor === undefined) return {};
  const found = JSON.parse(cursor) as SegmentCursor<Progress>;
  return typeof found.userId === "string" ? found : { scan: cursor };
}
