/** Compares bulk grants and the outcomes of their blocks with the event keys of their rows. */

import { bulkGrantRef, bulkRevisionRef } from "../../src/bulk-grants/ports/records.ts";
import {
  type BulkGrant,
  finalStates,
  type Revision,
} from "../../src/bulk-grants/rules/bulk-grant.ts";
import { rowsPerBlock, type SheetRow } from "../../src/bulk-grants/rules/sheet.ts";
import { executeRow, rowEventKey } from "../../src/bulk-grants/use-cases/execute-row.ts";
import { readStoredBlock } from "../../src/bulk-grants/use-cases/stored-block.ts";
import { DomainError } from "../../src/platform/words/errors.ts";
import { quantity } from "../../src/platform/words/quantities.ts";
import { programRef } from "../../src/points/ports/records.ts";
import { bulkGrantOf, foundKey, type GrantedRows } from "./compare-points.ts";
import { type CompareDeps, found } from "./findings.ts";
import { requireAgreement } from "./require-agreement.ts";
import { scanTable } from "./scan-table.ts";

/**
 * Compares all bulk grants. `granted` has the rows that the points table has as granted; granted
 * rows that are in no sheet are named as well.
 */
export async function compareBulkGrants(deps: CompareDeps, granted: GrantedRows): Promise<void> {
  const users = new Map<string, ReadonlySet<string>>();
  await scanTable(deps, ["bulkGrant"], async (records) => {
    for (const { id, value } of records) {
      const known = await compareBulkGrant(deps, value);
      const count = granted.get(id)?.count ?? 0;
      if (count > known.grantedCount) users.set(id, known.users);
    }
  });
  for (const { programId, bulkGrantId, count, isLost } of granted.values()) {
    if (!isLost) continue;
    const name = `${programId}/${bulkGrantId}`;
    await found(deps, { kind: "BULK_GRANT_LOST", name, detail: `${count} granted rows` });
  }
  if (users.size > 0) await nameUnknownRows(deps, users);
}

/** The rows of all revisions of a bulk grant. */
interface KnownRows {
  readonly users: ReadonlySet<string>;
  /** How many of them are granted. */
  readonly grantedCount: number;
}

async function compareBulkGrant(deps: CompareDeps, bulkGrant: BulkGrant): Promise<KnownRows> {
  const users = new Set<string>();
  const granted = new Set<string>();
  const { programId, bulkGrantId, state } = bulkGrant;
  const name = `${programId}/${bulkGrantId}`;
  if (!(await deps.reader.get(programRef(programId)))) {
    await found(deps, { kind: "PROGRAM_LOST", name, detail: state });
  }
  for (const revision of await revisionsOf(deps, bulkGrant)) {
    let laterCount = 0;
    const blocks = Math.ceil(revision.rowCount / rowsPerBlock);
    for (let block = 0; block < blocks; block++) {
      const compared = await compareBlock(deps, { ...bulkGrant, revision }, block);
      laterCount += compared.laterCount;
      for (const userId of compared.users) users.add(userId);
      for (const userId of compared.granted) granted.add(userId);
    }
    if (revision.number === bulkGrant.revision.number && laterCount > 0) {
      const detail = `${state}, and ${laterCount} more rows of its sheet are granted`;
      await found(deps, { kind: "BULK_GRANT_BEHIND", name, detail });
    }
  }
  return { users, grantedCount: granted.size };
}

/** The revisions of a bulk grant whose records exist; the record has the current one itself. */
async function revisionsOf({ reader }: CompareDeps, bulkGrant: BulkGrant): Promise<Revision[]> {
  const { programId, bulkGrantId, revision } = bulkGrant;
  const earlier = await reader.many(
    Array.from({ length: revision.number - 1 }, (_, i) =>
      bulkRevisionRef(programId, bulkGrantId, i + 1),
    ),
  );
  return [...earlier.filter((found) => found !== undefined), revision];
}

interface ComparedBlock {
  readonly users: readonly string[];
  readonly granted: readonly string[];
  /** The granted rows of which the records of the bulk grant know nothing. */
  readonly laterCount: number;
}

async function compareBlock(
  deps: CompareDeps,
  bulkGrant: BulkGrant,
  block: number,
): Promise<ComparedBlock> {
  const { programId, bulkGrantId, revision } = bulkGrant;
  const { rows, check, outcome } = await readStoredBlock(deps, revision.uploadId, block);
  const name = `${programId}/${bulkGrantId}`;
  if (rows.length === 0) {
    const detail = `block ${block} of revision ${revision.number}`;
    await found(deps, { kind: "BULK_BLOCK_LOST", name, detail });
  }
  const keys = await deps.reader.many(
    rows.map(({ userId }) => rowEventKey(programId, bulkGrantId, userId)),
  );
  const failed = new Set(outcome?.failures.map(({ index }) => index));
  const before = new Set(check?.alreadyGranted);
  const isRecorded = (index: number) =>
    before.has(index) || (outcome !== undefined && !failed.has(index));
  for (const [index, row] of rows.entries()) {
    if (keys[index] || !isRecorded(index)) continue;
    const detail = `${quantity(row.points, "point")} for ${row.userId}`;
    await found(deps, { kind: "BULK_ROW_GRANT_LOST", name, detail }, () =>
      grantAgain(deps, bulkGrant, row),
    );
  }
  // A run under way writes the outcome of a block behind its rows, and a validation reads them.
  const isUnderWay = bulkGrant.state === "RUNNING" || check === undefined;
  const later = rows.filter((_, index) => keys[index] && !isRecorded(index));
  return {
    users: rows.map(({ userId }) => userId),
    granted: rows.filter((_, index) => keys[index]).map(({ userId }) => userId),
    laterCount: isUnderWay || !mayBeBehind(bulkGrant) ? 0 : later.length,
  };
}

/** A run that has ended counts every granted row, and one that has not begun has granted none. */
const mayBeBehind = ({ state, startTime }: BulkGrant): boolean =>
  finalStates.has(state) || startTime === undefined;

/**
 * Executes a row again whose grant is lost, under the event of the row: if it is granted, nothing
 * happens. Throws the refusal of the row, and LEDGER_DAMAGED.
 */
async function grantAgain(deps: CompareDeps, bulkGrant: BulkGrant, row: SheetRow): Promise<void> {
  await requireAgreement(deps, { programId: bulkGrant.programId, userId: row.userId });
  const lease = { isHeld: true, decided: <T>(send: () => Promise<T>) => send() };
  const unpaced = { ...deps, awaitRowSlot: async () => undefined };
  let unexpected: unknown;
  const outcome = await executeRow(unpaced, bulkGrant, row, lease, (_, error) => {
    unexpected = error;
  });
  if (unexpected) throw unexpected;
  if (!outcome || !("code" in outcome)) return;
  const { code, detail = "the row was refused" } = outcome;
  throw new DomainError(code === "ACCOUNT_FROZEN" ? code : "WRONG_STATE", `${code}: ${detail}`);
}

/** Names the granted rows of these bulk grants that are in none of their sheets. */
async function nameUnknownRows(
  deps: CompareDeps,
  users: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<void> {
  await scanTable(deps, ["event"], async (records) => {
    for (const record of records) {
      if (record.value.entry.event.origin !== "b") continue;
      const key = foundKey(record);
      const { programId, bulkGrantId } = bulkGrantOf(key);
      const known = users.get(bulkGrantRef(programId, bulkGrantId).id);
      if (!known || known.has(key.userId)) continue;
      const detail = `${quantity(key.key.entry.points, "point")} for ${key.userId}`;
      await found(deps, { kind: "BULK_ROW_LOST", name: `${programId}/${bulkGrantId}`, detail });
    }
  });
}
