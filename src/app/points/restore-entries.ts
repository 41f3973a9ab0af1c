/** Restores missing ledger entries from the copies that their event keys keep. */
import { DomainError } from "../../domain/errors.ts";
import { eventName, type LedgerEntry } from "../../domain/ledger.ts";
import { addEntry, type NumberRange, startSum } from "../../domain/rebuild.ts";
import { requireTime } from "../deadlines.ts";
import type { Deps } from "../ports/deps.ts";
import { allPages } from "../ports/pages.ts";
import type { AccountName } from "../ports/points.ts";
import { accountRef, entryRef } from "../ports/records.ts";
import type { VerifiedAccount } from "./verify-account.ts";

/** More missing entries than this are no accident of one item; one transaction takes all. */
const maxRestored = 50;

/** How many items one read brings. */
const pageSize = 1_000;

/** How many disjoint parts of the table are scanned in parallel. */
const segmentCount = 4;

/** How many faults and holes a refusal names. */
const maxNamed = 10;

/**
 * Where the ledger has holes. One whose account has come further has a hole at its end, unless the
 * account agrees with it in everything but its last number.
 */
export function missingNumbers({ account, sum, differenceCount }: VerifiedAccount): NumberRange[] {
  const last = account?.last ?? 0;
  const isShort = last > sum.last && differenceCount > sum.faultCount + 1;
  return isShort ? [...sum.missing, { from: sum.last + 1, to: last }] : [...sum.missing];
}

/**
 * Writes the missing entries under the version that was verified, if the ledger is whole with them.
 * The copies are found by a scan of the whole points table: event keys are not indexed by account.
 * Returns the numbers; none when the account has been written meanwhile. Throws LEDGER_DAMAGED and
 * DEADLINE.
 */
export async function restoreEntries(
  deps: Pick<Deps, "engine" | "reader">,
  name: AccountName,
  found: VerifiedAccount,
  deadline: number | undefined,
): Promise<number[]> {
  const holes = missingNumbers(found);
  const count = holes.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  if (count === 0 || count > maxRestored) throw refuseDamaged(found);
  const copies = await findCopies(deps, name, holes, deadline);
  if (copies.length < count) throw refuseDamaged(found);
  if (!(await isWhole(deps, name, found, copies, deadline))) throw refuseDamaged(found);
  const ref = accountRef(name.programId, name.userId);
  const refs = copies.map(({ number }) => entryRef(name.programId, name.userId, number));
  const isWritten = await deps.engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: refs,
    deadline,
    decide(tx) {
      if (tx.recordVersion(ref) !== found.version || refs.some((each) => tx.get(each)))
        return false;
      for (const [i, each] of refs.entries()) tx.put(each, copies[i] as LedgerEntry);
      return true;
    },
  });
  return isWritten ? copies.map(({ number }) => number) : [];
}

/** The copies of missing entries, by number. */
async function findCopies(
  deps: Pick<Deps, "reader">,
  name: AccountName,
  holes: readonly NumberRange[],
  deadline: number | undefined,
): Promise<LedgerEntry[]> {
  const numbers = { from: (holes[0] as NumberRange).from, to: (holes.at(-1) as NumberRange).to };
  const copies = new Map<number, LedgerEntry>();
  const scan = async (segment: number) => {
    const pages = allPages(pageSize, (page) => {
      requireTime(deadline);
      return deps.reader.entryCopies(name, numbers, segment, segmentCount, page);
    });
    for await (const entries of pages) {
      for (const entry of entries) {
        if (holes.some(({ from, to }) => entry.number >= from && entry.number <= to)) {
          copies.set(entry.number, entry);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: segmentCount }, (_, segment) => scan(segment)));
  return [...copies.values()].sort((a, b) => a.number - b.number);
}

/** Whether the ledger, as far as it was verified, has no fault left with the copies in place. */
async function isWhole(
  deps: Pick<Deps, "reader">,
  name: AccountName,
  found: VerifiedAccount,
  copies: readonly LedgerEntry[],
  deadline: number | undefined,
): Promise<boolean> {
  const last = Math.max(found.sum.last, copies.at(-1)?.number ?? 0);
  const restored = new Set(copies.map(({ event }) => eventName(event)));
  const waiting = [...copies];
  const sum = startSum();
  const pages = allPages(pageSize, (page) => {
    requireTime(deadline);
    return deps.reader.storedEntries(name, page);
  });
  for await (const entries of pages) {
    for (const entry of entries) {
      // The entry may stand under another number, where a part of its item was lost.
      if (restored.has(eventName(entry.event))) return false;
      if (entry.number > last) continue;
      while (waiting[0] && waiting[0].number < entry.number)
        addEntry(sum, waiting.shift() as LedgerEntry);
      addEntry(sum, entry);
    }
  }
  for (const entry of waiting) addEntry(sum, entry);
  return sum.faultCount === 0;
}

/** The refusal that names what is wrong with the ledger: the missing numbers and the faults. */
export function refuseDamaged(found: VerifiedAccount): DomainError {
  const { faults, faultCount } = found.sum;
  const holes = missingNumbers(found).map(({ from, to }) =>
    from === to ? `${from}` : `${from}-${to}`,
  );
  const missing = holes.slice(0, maxNamed).join(", ");
  const fields = faults
    .slice(0, maxNamed)
    .map(({ field }) => field)
    .join(", ");
  const what = [
    ...(found.sum.last === 0 ? ["it is empty"] : []),
    ...(missing ? [`entries are missing: ${missing}`] : []),
    ...(fields ? [`${faultCount} faults: ${fields}`] : []),
  ];
  const message = `the ledger is damaged and the account was left as it is; ${what.join("; ")}`;
  return new DomainError("LEDGER_DAMAGED", message, {
    missing_entry_numbers: missing,
    faults: fields,
    fault_count: String(faultCount),
  });
}
