/** Restores missing ledger entries from the copies on their event keys. */

import { type CallLimits, requireTime } from "../../platform/ports/call.ts";
import { allPages } from "../../platform/ports/pages.ts";
import { DomainError } from "../../platform/words/errors.ts";
import { nounFor } from "../../platform/words/quantities.ts";
import type { Deps } from "../ports/deps.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef } from "../ports/records.ts";
import { eventName, type LedgerEntry } from "../rules/ledger.ts";
import { addEntry, isContradictory, type NumberRange, startSum } from "../rules/rebuild.ts";
import type { PutRepairAct } from "./repair-act.ts";
import type { VerifiedAccount } from "./verify-account.ts";

/**
 * At most this many entries are restored, by one transaction: DynamoDB's limit of 100 items without
 * the account and the act. A transaction of a busy account writes up to about 93 entries, which a
 * restore of the table may lose together. A larger loss needs a backup.
 */
const maxRestored = 98;

/** The number of items of one read. */
const pageSize = 1_000;

/** The number of disjoint segments of the table that are scanned concurrently. */
const segmentCount = 4;

/** A refusal names at most this many faults and this many ranges of missing entries. */
const maxNamed = 10;

/**
 * Restores the missing entries, conditioned on the version of the account that was verified, if the
 * ledger has no faults with them but wrong snapshots. Finds the copies by a scan of the whole
 * points table, because event keys are not indexed by account. Returns the numbers of the restored
 * entries; none when the account has been written meanwhile. Throws LEDGER_DAMAGED and DEADLINE.
 */
export async function restoreEntries(
  deps: Pick<Deps, "engine" | "reader">,
  name: AccountName,
  found: VerifiedAccount,
  call: CallLimits | undefined,
  putAct: PutRepairAct,
): Promise<number[]> {
  const missing = missingRanges(found);
  const count = missing.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  if (count === 0 || count > maxRestored) throw ledgerDamaged(found);
  const copies = await findCopies(deps, name, missing, call);
  if (copies.length < count) throw ledgerDamaged(found);
  if (!(await isFaultless(deps, name, found, copies, call))) throw ledgerDamaged(found);
  const ref = accountRef(name.programId, name.userId);
  const refs = copies.map(({ number }) => entryRef(name.programId, name.userId, number));
  const isWritten = await deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: refs,
    call,
    decide(tx, { wall }) {
      const isChanged = tx.recordVersion(ref) !== found.version;
      if (isChanged || refs.some((each) => tx.get(each))) return false;
      for (const [i, each] of refs.entries()) tx.put(each, copies[i] as LedgerEntry);
      putAct(tx, wall);
      return true;
    },
  });
  return isWritten ? copies.map(({ number }) => number) : [];
}

/**
 * Returns the ranges of missing entries. When the account is ahead of its ledger, entries are
 * missing at the ledger's end, unless the account differs from it in the last number only.
 */
export function missingRanges({ account, sum, differenceCount }: VerifiedAccount): NumberRange[] {
  const last = account?.last ?? 0;
  const isShort = last > sum.last && differenceCount > sum.faultCount + 1;
  return isShort ? [...sum.missing, { from: sum.last + 1, to: last }] : [...sum.missing];
}

/** The refusal LEDGER_DAMAGED with the missing numbers and the faults of the ledger. */
export function ledgerDamaged(found: VerifiedAccount): DomainError {
  const { faults, faultCount } = found.sum;
  const missing = missingRanges(found)
    .slice(0, maxNamed)
    .map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`))
    .join(", ");
  const fields = faults
    .slice(0, maxNamed)
    .map(({ field }) => field)
    .join(", ");
  const problems = [
    ...(found.sum.last === 0 ? ["it is empty"] : []),
    ...(missing ? [`entries are missing: ${missing}`] : []),
    ...(fields ? [`${faultCount} ${nounFor(faultCount, "fault")}: ${fields}`] : []),
  ];
  const message = `the ledger is damaged and the account was left as it is; ${problems.join("; ")}`;
  return new DomainError("LEDGER_DAMAGED", message, {
    missing_entry_numbers: missing,
    faults: fields,
    fault_count: String(faultCount),
  });
}

/** Returns the copies of missing entries that exist, by number. */
async function findCopies(
  deps: Pick<Deps, "reader">,
  name: AccountName,
  missing: readonly NumberRange[],
  call: CallLimits | undefined,
): Promise<LedgerEntry[]> {
  const [first, last] = [missing[0], missing.at(-1)] as [NumberRange, NumberRange];
  const numbers = { from: first.from, to: last.to };
  const copies = new Map<number, LedgerEntry>();
  const scan = async (segment: number) => {
    const pages = allPages(pageSize, (page) => {
      requireTime(call);
      return deps.reader.entryCopies(name, numbers, segment, segmentCount, page);
    });
    for await (const entries of pages) {
      for (const entry of entries) {
        if (missing.some(({ from, to }) => entry.number >= from && entry.number <= to)) {
          copies.set(entry.number, entry);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: segmentCount }, (_, segment) => scan(segment)));
  return [...copies.values()].sort((a, b) => a.number - b.number);
}

/**
 * Returns whether the ledger, up to the verified entry, has no fault with the copies added, besides
 * wrong snapshots.
 */
async function isFaultless(
  deps: Pick<Deps, "reader">,
  name: AccountName,
  found: VerifiedAccount,
  copies: readonly LedgerEntry[],
  call: CallLimits | undefined,
): Promise<boolean> {
  const last = Math.max(found.sum.last, copies.at(-1)?.number ?? 0);
  const restored = new Set(copies.map(({ event }) => eventName(event)));
  const notAdded = [...copies];
  const sum = startSum();
  const pages = allPages(pageSize, (page) => {
    requireTime(call);
    return deps.reader.storedEntries(name, page);
  });
  for await (const entries of pages) {
    for (const entry of entries) {
      // The entry is stored under another number, because a part of its item was lost.
      if (restored.has(eventName(entry.event))) return false;
      if (entry.number > last) continue;
      while (notAdded[0] && notAdded[0].number < entry.number) {
        addEntry(sum, notAdded.shift() as LedgerEntry);
      }
      addEntry(sum, entry);
    }
  }
  for (const entry of notAdded) addEntry(sum, entry);
  return !isContradictory(sum);
}
