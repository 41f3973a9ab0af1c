/** Compares each account with its ledger, and its ledger with the keys of its events. */

import { isInHold } from "../../src/holds/rules/hold.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import type { AccountName } from "../../src/points/ports/points.ts";
import { accountRef, entryRef, eventRef, programRef } from "../../src/points/ports/records.ts";
import { type EventKey, eventName, type LedgerEntry } from "../../src/points/rules/ledger.ts";
import { isContradictory, rebuildFromLedger } from "../../src/points/rules/rebuild.ts";
import { type RepairedAccount, repairVerified } from "../../src/points/use-cases/repair-account.ts";
import { missingRanges } from "../../src/points/use-cases/restore-entries.ts";
import {
  type VerifiedAccount,
  verifyOneAccount,
} from "../../src/points/use-cases/verify-account.ts";
import { addHoldEntries, compareHolds, type EntriesByHold } from "./compare-holds.ts";
import { type CompareDeps, found } from "./findings.ts";
import { readLedger } from "./read-ledger.ts";
import { rebuildEventKey } from "./rebuild-event-key.ts";
import { requireAgreement } from "./require-agreement.ts";

/**
 * An account whose ledger ends before the last entry that the account has: the table of accounts
 * was restored to a later moment, or the end of the ledger is lost.
 */
interface AccountAhead {
  readonly account: AccountName;
  /** The number of the last entry, by the account and by the ledger. */
  readonly last: number;
  readonly ledgerLast: number;
  /** How many of the entries in between have a copy on the key of their event. */
  copyCount: number;
}

/** The accounts that are ahead of their ledgers, by their names. */
export type AccountsAhead = Map<string, AccountAhead>;

/**
 * Compares one account with its ledger, and the ledger with its event keys. An account that is
 * ahead is added to `ahead`, for `compareAhead`.
 */
export async function compareAccount(
  deps: CompareDeps,
  account: AccountName,
  ahead: AccountsAhead,
): Promise<void> {
  if (!(await deps.reader.get(programRef(account.programId)))) {
    return found(deps, { kind: "PROGRAM_LOST", name: textOf(account) });
  }
  const verified = await verifyOneAccount(deps, account, undefined);
  const { last = 0 } = verified.account ?? {};
  if (isAhead(verified)) {
    const each = { account, last, ledgerLast: verified.sum.last, copyCount: 0 };
    ahead.set(textOf(account), each);
  } else {
    await accountDiffers(deps, account, verified, () =>
      repairVerified(deps, account, verified, undefined),
    );
  }
  await compareKeys(deps, account);
}

/** Whether nothing but the end of the ledger is missing. */
const isAhead = (verified: VerifiedAccount): boolean =>
  missingRanges(verified).length > verified.sum.missing.length && !isContradictory(verified.sum);

/** Counts the key of an event whose entry may be missing. */
export function countCopy(
  ahead: AccountsAhead,
  account: AccountName,
  { entry: { number } }: EventKey,
): void {
  const each = ahead.get(textOf(account));
  if (each && number > each.ledgerLast && number <= each.last) each.copyCount += 1;
}

/**
 * Reports an account that is ahead, when the keys of all events are counted. If every missing entry
 * has a copy, they are restored as VerifyAccount does. Otherwise the account is set back to its
 * ledger. The event keys of these changes are lost as well, or deleted by `compareLateKey`, so a
 * call that is sent again makes its change once.
 */
export async function compareAhead(
  deps: CompareDeps,
  { account, last, ledgerLast, copyCount }: AccountAhead,
): Promise<void> {
  const verified = await verifyOneAccount(deps, account, undefined);
  await accountDiffers(deps, account, verified, () =>
    copyCount === last - ledgerLast
      ? repairVerified(deps, account, verified, undefined)
      : setBack(deps, account, verified),
  );
}

async function accountDiffers(
  deps: CompareDeps,
  account: AccountName,
  { differences, differenceCount }: VerifiedAccount,
  mend: () => Promise<Pick<RepairedAccount, "repaired" | "restoredEntryNumbers">>,
): Promise<void> {
  if (differenceCount === 0) return;
  const fields = differences.slice(0, 3).map(({ field, expected, actual }) => {
    const isOfLedger = /^entries\[/.test(field);
    return isOfLedger
      ? `${field} is ${actual}, and should be ${expected}`
      : `${field} is ${actual} by the account, ${expected} by the ledger`;
  });
  const rest = differenceCount - fields.length;
  const detail = fields.join("; ") + (rest > 0 ? `; and ${rest} more` : "");
  await found(deps, { kind: "ACCOUNT_DIFFERS", name: textOf(account), detail }, async () => {
    const { repaired, restoredEntryNumbers: restored } = await mend();
    const entries = quantity(restored.length, "entry", "entries");
    return [
      ...(restored.length > 0 ? [`${entries} restored in the ledger`] : []),
      repaired ? "the account was set to its ledger" : "the account stays as it was",
    ].join(", ");
  });
}

/** Sets an account to its ledger, which ends earlier. */
async function setBack(
  { engine, programs }: CompareDeps,
  { programId, userId }: AccountName,
  { version, sum }: VerifiedAccount,
) {
  const ref = accountRef(programId, userId);
  await programs.get(programId);
  await engine.transact({
    key: ref,
    readSet: [ref],
    expectAbsent: [],
    call: undefined,
    decide(tx) {
      if (tx.recordVersion(ref) !== version) return;
      const rebuilt = rebuildFromLedger(sum, programs.current(programId), userId);
      if (rebuilt) tx.put(ref, rebuilt);
      else tx.delete(ref);
    },
  });
  return { repaired: true, restoredEntryNumbers: [] };
}

/**
 * Compares the keys of the events of a ledger with its entries. Expiries, holds and their releases
 * have no event keys; the records of holds are compared with what the ledger has of them.
 */
async function compareKeys(deps: CompareDeps, account: AccountName): Promise<void> {
  const reversed = new Map<string, number>();
  const keys = new Map<string, number>();
  const holds: EntriesByHold = new Map();
  for await (const page of readLedger(deps, account)) {
    addHoldEntries(holds, page);
    const entries = page.filter(({ event }) => event.origin !== "x" && !isInHold(event));
    const found = await deps.reader.many(entries.map((entry) => keyOf(account, entry)));
    for (const [i, entry] of entries.entries()) {
      const key = found[i];
      await compareKey(deps, account, entry, key);
      if (key?.reversedPoints) keys.set(eventName(entry.event), key.reversedPoints);
      const { relatedEvent, points } = entry;
      // What a capture names is its hold, which counts the capture in its own record.
      if (!relatedEvent || isInHold(relatedEvent)) continue;
      const name = eventName(relatedEvent);
      reversed.set(name, (reversed.get(name) ?? 0) + points);
    }
  }
  for (const name of new Set([...keys.keys(), ...reversed.keys()])) {
    await compareReversed(deps, account, name, keys.get(name) ?? 0, reversed.get(name) ?? 0);
  }
  await compareHolds(deps, account, holds);
}

const keyOf = ({ programId, userId }: AccountName, { event }: LedgerEntry) =>
  eventRef(programId, userId, eventName(event));

async function compareKey(
  deps: CompareDeps,
  account: AccountName,
  entry: LedgerEntry,
  key: EventKey | undefined,
): Promise<void> {
  const name = `${textOf(account)} ${eventName(entry.event)}`;
  if (key?.entry.number === entry.number) return;
  if (key) {
    const detail = `the key names entry ${key.entry.number}, the ledger has it as ${entry.number}`;
    return found(deps, { kind: "EVENT_KEY_DIFFERS", name, detail });
  }
  const ref = keyOf(account, entry);
  await found(deps, { kind: "EVENT_KEY_LOST", name, detail: `entry ${entry.number}` }, async () => {
    // The months of a capture follow from the captures before it, which a gap may hide.
    if (entry.type === "CAPTURED") await requireAgreement(deps, account);
    const rebuilt = await rebuildEventKey(deps, account, entry);
    await deps.engine.transact({
      key: accountRef(account.programId, account.userId),
      readSet: [],
      expectAbsent: [ref],
      call: undefined,
      decide(tx) {
        if (!tx.get(ref)) tx.put(ref, rebuilt);
      },
    });
  });
}

/** Compares how many points of an event its key and the ledger have as reversed. */
async function compareReversed(
  deps: CompareDeps,
  account: AccountName,
  event: string,
  byKey: number,
  byLedger: number,
): Promise<void> {
  const { programId, userId } = account;
  const ref = eventRef(programId, userId, event);
  // A lost key that was rebuilt has what the ledger says already.
  const stored = byKey === byLedger ? byKey : (await deps.reader.get(ref))?.value.reversedPoints;
  if (stored === undefined || stored === byLedger) return;
  const detail = `${quantity(byLedger, "point")} reversed by the ledger, not ${stored}`;
  const name = `${textOf(account)} ${event}`;
  await found(deps, { kind: "EVENT_KEY_DIFFERS", name, detail }, async () => {
    if (byLedger < stored) await requireAgreement(deps, account);
    await deps.engine.transact({
      key: accountRef(programId, userId),
      readSet: [ref],
      expectAbsent: [],
      call: undefined,
      decide(tx) {
        const key = tx.get(ref);
        if (key?.reversedPoints === stored) tx.put(ref, { ...key, reversedPoints: byLedger });
      },
    });
  });
}

/**
 * Compares an event key whose entry is behind the last one of its account. The account and its
 * ledger do not have the change, so the key is deleted, and a call that is sent again makes it.
 */
export async function compareLateKey(
  deps: CompareDeps,
  account: AccountName,
  { entry }: EventKey,
): Promise<void> {
  const { programId, userId } = account;
  const number = entryRef(programId, userId, entry.number);
  if (await deps.reader.get(number)) return;
  const ref = keyOf(account, entry);
  const name = `${textOf(account)} ${eventName(entry.event)}`;
  const detail = `${entry.type} ${quantity(entry.points, "point")} as entry ${entry.number}`;
  await found(deps, { kind: "LEDGER_ENTRY_LOST", name, detail }, () =>
    deps.engine.transact({
      key: accountRef(programId, userId),
      readSet: [ref],
      expectAbsent: [number],
      call: undefined,
      decide(tx) {
        if (!tx.get(number)) tx.delete(ref);
      },
    }),
  );
}

export const textOf = ({ programId, userId }: AccountName): string => `${programId}/${userId}`;
