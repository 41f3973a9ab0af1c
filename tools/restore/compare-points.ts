/** Compares accounts with points, and finds the grants that no other table knows of. */

import { bulkGrantRef } from "../../src/bulk-grants/ports/records.ts";
import type { BulkGrantName } from "../../src/bulk-grants/rules/bulk-grant.ts";
import { bulkGrantIdOf } from "../../src/bulk-grants/use-cases/execute-row.ts";
import type { AccountName } from "../../src/points/ports/points.ts";
import { accountRef } from "../../src/points/ports/records.ts";
import type { EventKey } from "../../src/points/rules/ledger.ts";
import { reservationRef } from "../../src/reservations/ports/records.ts";
import type { Scanned } from "../../src/store/scans.ts";
import {
  type AccountsAhead,
  compareAccount,
  compareAhead,
  compareLateKey,
  countCopy,
} from "./compare-accounts.ts";
import { recreateReservation } from "./compare-reservations.ts";
import type { CompareDeps } from "./findings.ts";
import { scanTable } from "./scan-table.ts";

/** An event key with the names that its own key consists of. */
interface FoundKey extends AccountName {
  readonly key: EventKey;
}

/** How many granted rows were found of each bulk grant, by its name. */
export type GrantedRows = Map<string, BulkGrantName & { count: number; isLost: boolean }>;

/** Compares all accounts, ledgers and event keys. Returns the granted rows of bulk grants. */
export async function comparePoints(deps: CompareDeps): Promise<GrantedRows> {
  const rows: GrantedRows = new Map();
  const ahead: AccountsAhead = new Map();
  await scanTable(deps, ["account"], async (records) => {
    for (const { value: account } of records) await compareAccount(deps, account, ahead);
  });
  await scanTable(deps, ["event"], async (records) => {
    const keys = records.map(foundKey);
    for (const found of keys) countCopy(ahead, found, found.key);
    await compareWithAccounts(deps, keys, ahead);
    await compareWithReservations(deps, keys);
    await countRows(deps, keys, rows);
  });
  for (const each of ahead.values()) await compareAhead(deps, each);
  return rows;
}

export function foundKey({ id, value: key }: Scanned<"event">): FoundKey {
  const [programId, userId] = id.split("#") as [string, string];
  return { programId, userId, key };
}

/** Finds keys whose entry their account does not have, and accounts that are lost as a whole. */
async function compareWithAccounts(
  deps: CompareDeps,
  keys: readonly FoundKey[],
  ahead: AccountsAhead,
): Promise<void> {
  const accounts = await deps.reader.many(
    keys.map(({ programId, userId }) => accountRef(programId, userId)),
  );
  for (const [i, found] of keys.entries()) {
    const account = accounts[i];
    const { number } = found.key.entry;
    // The scan finds accounts by their records. One that is lost is found by its first event.
    if (!account && number === 1) await compareAccount(deps, found, ahead);
    if (number > (account?.last ?? 0)) await compareLateKey(deps, found, found.key);
  }
}

async function compareWithReservations(
  deps: CompareDeps,
  keys: readonly FoundKey[],
): Promise<void> {
  const granted = keys.filter(({ key }) => key.entry.event.origin === "r");
  const reservations = await deps.reader.many(
    granted.map(({ programId, key }) => reservationRef(programId, key.entry.event.eventId)),
  );
  for (const [i, found] of granted.entries()) {
    if (!reservations[i]) await recreateReservation(deps, found, found.key);
  }
}

/** Counts the granted rows of each bulk grant. */
async function countRows(
  { reader }: CompareDeps,
  keys: readonly FoundKey[],
  rows: GrantedRows,
): Promise<void> {
  const granted = keys.filter(({ key }) => key.entry.event.origin === "b");
  const names = granted.map(bulkGrantOf);
  const refs = names.map(({ programId, bulkGrantId }) => bulkGrantRef(programId, bulkGrantId));
  const bulkGrants = await reader.many(refs);
  for (const [i, name] of names.entries()) {
    const { id } = refs[i] as (typeof refs)[number];
    const row = rows.get(id) ?? { ...name, count: 0, isLost: bulkGrants[i] === undefined };
    rows.set(id, { ...row, count: row.count + 1 });
  }
}

/** The bulk grant whose row an event key is of. */
export const bulkGrantOf = ({ programId, userId, key }: FoundKey): BulkGrantName => ({
  programId,
  bulkGrantId: bulkGrantIdOf(key.entry.event, userId),
});
