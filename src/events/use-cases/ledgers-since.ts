/** Reads what the ledgers have recorded since a time, of the accounts that have changed since. */
import { setTimeout as sleep } from "node:timers/promises";
import { inBatches } from "../../platform/ports/pages.ts";
import type { Instant } from "../../platform/words/month.ts";
import { entryRef } from "../../points/ports/records.ts";
import type { Account } from "../../points/rules/account.ts";
import type { LedgerEntry } from "../../points/rules/ledger.ts";
import { firstWithin } from "../../points/use-cases/jobs/export-window.ts";
import type { EventDeps } from "../ports/deps.ts";
import type { ScannedItem } from "../ports/record-scan.ts";

/** The number of accounts that one page of the scan reads. */
const scanPage = 1_000;

/** The accounts whose ledgers are read at a time. */
const together = 16;

/** The number of items of a ledger that one read has, of 1 to 16 entries each. */
const ledgerPage = 32;

/**
 * A reader may see an account a moment before the entries of the same transaction, so a ledger that
 * seems to lack entries is read again.
 */
const readings = 4;
const againMs = 250;

export type LedgerDeps = Pick<EventDeps, "reader" | "recordScan">;

/** What was read, and where to go on; undefined at the end. */
export interface ItemsPage {
  readonly items: readonly ScannedItem[];
  readonly cursor: string | undefined;
}

/** The log stores it as JSON, so its property names do not change. */
interface LedgersCursor {
  /** The cursor of the scan of the accounts, behind which all are still to be read. */
  readonly scan?: string | undefined;
  /** The numbers from which the ledgers of the next accounts go on, by program and user. */
  readonly numbers?: Readonly<Record<string, number>> | undefined;
}

/**
 * Yields the entries of each account in the order of their numbers, from the first one on that was
 * recorded at or after `since`, or from a few before it. The entries of an account have no holes:
 * in place of what is missing or cannot be decoded is an item without records.
 */
export async function* ledgersSince(
  deps: LedgerDeps,
  since: Instant,
  from: string | undefined,
): AsyncGenerator<ItemsPage, void> {
  let { scan, numbers = {} }: LedgersCursor = from === undefined ? {} : JSON.parse(from);
  do {
    const page = await deps.recordScan.accounts({ size: scanPage, cursor: scan });
    // The time of an account is never behind its last entry. That of a damaged one is NaN.
    const changed = page.items.filter(({ time }) => !(time < since));
    for (const accounts of inBatches(changed, together)) {
      for (let open: readonly Account[] = accounts; open.length > 0; ) {
        const read = await Promise.all(
          open.map((account) => readLedger(deps, account, since, numbers[nameOf(account)])),
        );
        const next = open.map((account, i) => [nameOf(account), (read[i] as Stretch).next]);
        numbers = { ...numbers, ...Object.fromEntries(next) };
        open = open.filter((_, i) => !(read[i] as Stretch).isEnd);
        if (open.length === 0) {
          scan = deps.recordScan.cursorOfAccount(accounts.at(-1) as Account);
          numbers = {};
        }
        yield { items: read.flatMap(({ items }) => items), cursor: textOf({ scan, numbers }) };
      }
    }
    scan = page.cursor;
    yield { items: [], cursor: scan === undefined ? undefined : textOf({ scan }) };
  } while (scan !== undefined);
}

const nameOf = ({ programId, userId }: Account): string => `${programId}#${userId}`;

const textOf = (cursor: LedgersCursor): string => JSON.stringify(cursor);

/** A part of a ledger. */
interface Stretch {
  readonly items: readonly ScannedItem[];
  /** The number behind the last entry. */
  readonly next: number;
  readonly isEnd: boolean;
}

/** Reads a page of a ledger, from a number on, or from its first entry since a time. */
async function readLedger(
  deps: LedgerDeps,
  account: Account,
  since: Instant,
  from: number | undefined,
): Promise<Stretch> {
  const around = from ?? (await firstWithin(deps, account, since));
  for (let reading = 1; ; reading++) {
    const page = await deps.reader.ledgerFrom(account, around, {
      size: ledgerPage,
      cursor: undefined,
    });
    const entries = new Map(page.items.map(({ number, entry }) => [number, entry]));
    // What is read around the first entry since a time begins before it, all else at its number.
    const first = from ?? Math.min(page.items[0]?.number ?? around, around);
    const isEnd = page.cursor === undefined;
    const { isComplete, ...stretch } = withoutHoles(account, entries, first, isEnd);
    if (isComplete || reading === readings) return { ...stretch, isEnd };
    await sleep(againMs);
  }
}

/** The entries from a number on, and one item without records in place of each hole. */
function withoutHoles(
  account: Account,
  entries: ReadonlyMap<number, LedgerEntry | undefined>,
  first: number,
  isEnd: boolean,
): Omit<Stretch, "isEnd"> & { readonly isComplete: boolean } {
  const items: ScannedItem[] = [];
  let next = first;
  let isComplete = true;
  const skipTo = (number: number) => {
    if (!(next < number)) return;
    items.push(itemOf(account, next, undefined));
    isComplete = false;
    next = number;
  };
  for (const number of [...entries.keys()].sort((a, b) => a - b)) {
    if (number < first) continue;
    skipTo(number);
    items.push(itemOf(account, number, entries.get(number)));
    next = number + 1;
  }
  if (isEnd) skipTo(account.last + 1);
  return { items, next, isComplete };
}

/** An entry, with the keys that its item has when no other one is packed before it. */
const itemOf = (account: Account, number: number, value: LedgerEntry | undefined): ScannedItem => ({
  keys: `A#${nameOf(account)} L#${String(number).padStart(12, "0")}`,
  records: value && [
    { ...entryRef(account.programId, account.userId, number), kind: "entry", value, version: 1 },
  ],
});
