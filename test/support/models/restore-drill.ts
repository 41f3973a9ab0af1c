/** Restores the tables of a store in memory to different moments of a workload. */

import type { SheetRow } from "../../../src/bulk-grants/rules/sheet.ts";
import type { Table } from "../../../src/platform/dynamodb/tables.ts";
import { nameOf } from "../../../src/platform/engine/item-store.ts";
import { codecOf } from "../../../src/store/codecs.ts";
import { compareTables } from "../../../tools/restore/compare.ts";
import type { Finding } from "../../../tools/restore/findings.ts";
import { runAs } from "../deploy/run-as.ts";
import type { Stored } from "../stores/memory-records.ts";
import { type MemoryDeps, memoryDeps } from "../stores/memory-store.ts";

export const allTables: readonly Table[] = [
  "accounts",
  "points",
  "reservations",
  "bulk",
  "reactions",
  "notifications",
];

/** The whole store after one transaction. */
type Snapshot = ReadonlyMap<string, Stored>;

/** The store after each transaction of a workload. */
export interface History {
  readonly snapshots: readonly Snapshot[];
  readonly blocks: ReadonlyMap<string, readonly SheetRow[]>;
}

/** Keeps the store after each transaction from now on. */
export function recordHistory({ store }: MemoryDeps): History {
  const take = (): Snapshot => new Map(store.stored().map((each) => [nameOf(each.ref), each]));
  const snapshots = [take()];
  const blocks = new Map<string, readonly SheetRow[]>();
  const { putBlock } = store.sheets;
  Object.assign(store.sheets, {
    async putBlock(uploadId: string, block: number, rows: readonly SheetRow[]) {
      blocks.set(`${uploadId}#${block}`, rows);
      await putBlock(uploadId, block, rows);
    },
  });
  store.answering = ({ op }) => {
    if (op === "commit") snapshots.push(take());
  };
  return { snapshots, blocks };
}

/** At which snapshot each table is restored. */
export type Moments = Readonly<Record<Table, number>>;

const tableOf = ({ ref }: Stored): Table => codecOf(ref.kind).table;

/**
 * The records of the tables at these moments. `isTorn` tells of a record that the next transaction
 * changes whether its table has it changed already, because AWS restores no transaction as a whole.
 */
export function recordsAt(
  { snapshots }: History,
  moments: Moments,
  isTorn: (record: Stored) => boolean,
): Stored[] {
  return allTables.flatMap((table) => {
    const at = snapshots[moments[table]] ?? new Map<string, Stored>();
    const next = snapshots[moments[table] + 1] ?? at;
    const names = new Set([...at.keys(), ...next.keys()]);
    return [...names].flatMap((name) => {
      const [before, after] = [at.get(name), next.get(name)];
      const either = (before ?? after) as Stored;
      if (tableOf(either) !== table) return [];
      const record = before !== after && isTorn(either) ? after : before;
      return record ? [record] : [];
    });
  });
}

/** Another store with these records, whose caches are empty. */
export async function restore(
  { blocks }: History,
  records: readonly Stored[],
  time: number,
): Promise<MemoryDeps> {
  const restored = memoryDeps({ time });
  restored.store.restore(records);
  for (const [name, rows] of blocks) {
    const [uploadId, block] = name.split("#") as [string, string];
    await restored.store.sheets.putBlock(uploadId, Number(block), rows);
  }
  return restored;
}

/** Compares all tables, and returns what was found. */
export async function compareAll({ store, deps }: MemoryDeps, repair: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const report = (finding: Finding) => findings.push(finding);
  const compare = () => compareTables({ ...deps, scan: store.scan, repair, report });
  await runAs("restore", "", compare);
  return findings;
}
