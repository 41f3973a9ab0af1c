/** Compares each account with its ledger, and its ledger with the keys of its events. */

import { DomainError } from "../../src/platform/words/errors.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import type { AccountName } from "../../src/points/ports/points.ts";
import { accountRef, entryRef, eventRef, programRef } from "../../src/points/ports/records.ts";
import { type EventKey, eventName, type LedgerEntry } from "../../src/points/rules/ledger.ts";
import { isContradictory, rebuildFromLedger } from "../../src/points/rules/rebuild.ts";
import { repairVerified } from "../../src/points/use-cases/repair-account.ts";
import { maxRestored } from "../../src/points/use-cases/restore-entries.ts";
import {
  type VerifiedAccount,
  verifyOneAccount,
} from "../../src/points/use-cases/verify-account.ts";
import { addHoldEntries, compareHolds, type EntriesByHold } from "./compare-holds.ts";
import { type CompareDeps, found } from "./findings.ts";
import { readLedger } from "./read-ledger.ts";
import { rebuildEventKey } from "./rebuild-event-key.ts";
import { requireAgreement } from "./require-agreement.ts";

/** Compares one account with its ledger, and the ledger with its event keys. */
export async function compareAccount(deps: CompareDeps, account: AccountName): Promise<void> {
  if (!(await deps.reader.get(programRef(account.programId)))) {
    return found(deps, { kind: "PROGRAM_LOST", name: textOf(account) });
  }
  const verified = await verifyOneAccount(deps, account, undefined);
  if (verified.differenceCount > 0) {
    const fields = verified.differences.slice(0, 3).map(({ field, expected, actual }) => {
      return `${field} ${expected}, not ${actual}`;
    });
    const rest = verified.differenceCount - fields.length;
    const detail = fields.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
    await found(deps, { kind: "ACCOUNT_DIFFERS", name: textOf(account), detail }, () =>
      mendAccount(deps, account, verified),
    );
  }
  await compareKeys(deps, account);
}

/**
 * Repairs an account as VerifyAccount does. An account that is ahead of a ledger without a fault,
 * of whose last entries not every one has a copy, is set back to its ledger. The event keys of
 * these changes are lost as well, or deleted by `compareLateKey`, so a call that is sent again
 * makes its change once. More entries than one repair restores may have copies, so they are left.
 */
async function mendAccount(
  deps: CompareDeps,
  account: AccountName,
  verified: VerifiedAccount,
): Promise<void> {
  try {
    await repairVerified(deps, account, verified, undefined);
  } catch (error) {
    const isDamaged = error instanceof DomainError && error.reason === "LEDGER_DAMAGED";
    const isAhead = (verified.account?.last ?? 0) > verified.sum.last;
    if (!isDamaged || !isAhead || isContradictory(verified.sum)) throw error;
    if ((verified.account?.last ?? 0) - verified.sum.last > maxRestored) throw error;
    await setBack(deps, account, verified);
  }
}

async function setBack(
  { engine, programs }: CompareDeps,
  { programId, userId }: AccountName,
  { version, sum }: VerifiedAccount,
): Promise<void> {
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
}

/**
 * Compares the keys of the events of a ledger with its entries. Expiries and the events of holds
 * have no event keys; the records of holds are compared with what the ledger has of them.
 */
async function compareKeys(deps: CompareDeps, account: AccountName): Promise<void> {
  const reversed = new Map<string, number>();
  const keys = new Map<string, number>();
  const holds: EntriesByHold = new Map();
  for await (const page of readLedger(deps, account)) {
    addHoldEntries(holds, page);
    const entries = page.filter(({ event }) => event.origin !== "x" && event.origin !== "h");
    const found = await deps.reader.many(entries.map((entry) => keyOf(account, entry)));
    for (const [i, entry] of entries.entries()) {
      const key = found[i];
      await compareKey(deps, account, entry, key);
      if (key?.reversedPoints) keys.set(eventName(entry.event), key.reversedPoints);
      const { relatedEvent, points } = entry;
      if (!relatedEvent) continue;
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
