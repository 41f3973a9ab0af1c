/** Compares the records of holds with the entries that the ledgers of their accounts have. */
import { isDeepStrictEqual } from "node:util";
import { holdRef } from "../../src/holds/ports/records.ts";
import { type Hold, holdIdOf, leftPointsOf, pointsOf } from "../../src/holds/rules/hold.ts";
import { inBatches } from "../../src/platform/ports/pages.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import { changeRecord } from "../../src/platform/work/change-record.ts";
import type { AccountName } from "../../src/points/ports/points.ts";
import { entryRef, programRef } from "../../src/points/ports/records.ts";
import { eventName, type LedgerEntry } from "../../src/points/rules/ledger.ts";
import { type CompareDeps, found } from "./findings.ts";
import { readLedger } from "./read-ledger.ts";
import { type LedgerHold, rebuildHold } from "./rebuild-hold.ts";
import { requireAgreement } from "./require-agreement.ts";

/** The number of records that are read together. */
const batchSize = 100;

/** The entries of each hold of a ledger, with the expiries that its release has caused. */
export type EntriesByHold = Map<string, LedgerEntry[]>;

export function addHoldEntries(holds: EntriesByHold, entries: readonly LedgerEntry[]): void {
  for (const entry of entries) {
    const holdId = holdIdOf(entry.event);
    if (holdId === undefined) continue;
    const known = holds.get(holdId);
    if (known) known.push(entry);
    else holds.set(holdId, [entry]);
  }
}

/** Compares all holds of a ledger with their records. */
export async function compareHolds(
  deps: CompareDeps,
  account: AccountName,
  holds: EntriesByHold,
): Promise<void> {
  const { programId } = account;
  for (const batch of inBatches([...holds], batchSize)) {
    const records = await deps.reader.many(batch.map(([holdId]) => holdRef({ programId, holdId })));
    for (const [i, [holdId, entries]] of batch.entries()) {
      await compareHold(deps, { ...account, holdId }, entries, records[i]);
    }
  }
}

/** Compares one hold. The record follows the ledger, because the points of the account do so. */
async function compareHold(
  deps: CompareDeps,
  name: LedgerHold,
  entries: readonly LedgerEntry[],
  record: Hold | undefined,
): Promise<void> {
  const rebuilt = rebuildHold(name, entries, record);
  if (record && rebuilt) {
    if (isDeepStrictEqual({ ...rebuilt, updateTime: record.updateTime }, record)) return;
  }
  const byLedger = rebuilt ? textOf(rebuilt) : "another hold, or two";
  const finding = {
    kind: record ? "HOLD_DIFFERS" : "HOLD_LOST",
    name: `${name.programId}/${name.holdId}`,
    detail: `${record ? `${textOf(record)}; ` : ""}by the ledger of ${name.userId}: ${byLedger}`,
  } as const;
  await found(deps, finding, rebuilt && (() => putRebuilt(deps, name, entries)));
}

async function putRebuilt(
  deps: CompareDeps,
  name: LedgerHold,
  entries: readonly LedgerEntry[],
): Promise<void> {
  await requireAgreement(deps, name);
  await changeRecord(
    deps,
    { ref: holdRef(name) },
    (record) => rebuildHold(name, entries, record) ?? record,
  );
}

/** Finds records of holds of which the ledger of the account has nothing. */
export async function compareHoldRecords(
  deps: CompareDeps,
  records: readonly Hold[],
): Promise<void> {
  const programs = await deps.reader.many(records.map(({ programId }) => programRef(programId)));
  const entries = await deps.reader.many(
    records.map(({ programId, userId, entryNumber }) => entryRef(programId, userId, entryNumber)),
  );
  for (const [i, record] of records.entries()) {
    const { programId, holdId, userId } = record;
    const name = `${programId}/${holdId}`;
    const detail = `${textOf(record)} for ${userId}`;
    if (!programs[i]) await found(deps, { kind: "PROGRAM_LOST", name, detail });
    else if (!isOf(record, entries[i]) && !(await isInLedger(deps, record))) {
      const finding = {
        kind: "HOLD_DIFFERS",
        name,
        detail: `${detail}; not in the ledger`,
      } as const;
      await found(deps, finding, () => deleteRecord(deps, record));
    }
  }
}

const isOf = ({ holdId }: Hold, entry: LedgerEntry | undefined): boolean =>
  entry !== undefined && eventName(entry.event) === `h:${holdId}`;

async function isInLedger(deps: CompareDeps, hold: Hold): Promise<boolean> {
  for await (const entries of readLedger(deps, hold)) {
    if (entries.some(({ event }) => holdIdOf(event) === hold.holdId)) return true;
  }
  return false;
}

/** Deletes a record whose points the account has not lost, so that it can never release them. */
async function deleteRecord(deps: CompareDeps, hold: Hold): Promise<void> {
  await requireAgreement(deps, hold);
  await changeRecord(deps, { ref: holdRef(hold) }, () => undefined);
}

function textOf(hold: Hold): string {
  const held = `${leftPointsOf(hold)} of ${quantity(pointsOf(hold), "point")} held`;
  return `${hold.state}, ${held}, ${hold.capturedPoints} captured`;
}
