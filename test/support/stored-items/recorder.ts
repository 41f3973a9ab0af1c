/** Plays calls of use cases on the store in memory, and keeps the items that DynamoDB would get. */

import { rowsKey } from "../../../src/bulk-grants/store/codecs/bulk-grants.ts";
import { encodeRows } from "../../../src/bulk-grants/store/codecs/bulk-rows.ts";
import { createDueHours } from "../../../src/due/runtime/due-hours.ts";
import type { Deps } from "../../../src/hub/deps.ts";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import type { Table } from "../../../src/platform/dynamodb/tables.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import type { Write } from "../../../src/platform/engine/item-store.ts";
import type { Kind } from "../../../src/platform/ports/records.ts";
import { pack } from "../../../src/points/store/codecs/points.ts";
import { codecOf } from "../../../src/store/codecs.ts";
import { itemOf } from "../../../src/store/item-store.ts";
import { memoryDeps, type SettableClock } from "../stores/memory-store.ts";

/** One item that was written, or the key of one that was deleted. */
export interface StoredItem {
  /** What was done when it was written. */
  readonly step: string;
  readonly kind: Kind | "rows";
  readonly table: Table;
  readonly op: "put" | "delete";
  readonly item: Item;
}

export interface Recorder {
  readonly deps: Deps;
  readonly clock: SettableClock;
  /** The items in the order in which they were written. */
  readonly stored: readonly StoredItem[];
  /** Does the work one second later, with the tasks that it leaves to the background. */
  step(name: string, work: () => Promise<unknown>): Promise<void>;
}

/** Starts at 2026-01-15, noon in Tokyo. */
export function createRecorder(): Recorder {
  const { deps, store, clock } = memoryDeps({ time: Date.UTC(2026, 0, 15, 3) });
  const stored: StoredItem[] = [];
  const tasks: Promise<void>[] = [];
  let step = "";
  const keep = (written: Omit<StoredItem, "step">) => stored.push({ step, ...written });

  const commit = async (writes: readonly Write[], token: string) => {
    const result = await store.itemStore.commit(writes, token);
    if (result.kind === "committed") for (const packed of pack(writes)) keepWrites(packed);
    return result;
  };
  function keepWrites(packed: readonly Write[]): void {
    const { ref, op } = packed[0] as Write;
    const { table, key } = codecOf(ref.kind);
    if (op === "put") keep({ kind: ref.kind, table, op, item: itemOf(packed) });
    if (op === "delete") keep({ kind: ref.kind, table, op, item: key(ref.id) });
  }

  const engine = new CommitEngine({ store: { ...store.itemStore, commit }, clock });
  return {
    deps: {
      ...deps,
      engine,
      dueHours: createDueHours(engine, clock),
      readAhead: (requests) => engine.readAhead(requests),
      sheets: {
        ...deps.sheets,
        putBlock(uploadId, block, rows) {
          const item = { ...rowsKey(uploadId, block), ...encodeRows(rows) };
          keep({ kind: "rows", table: "bulk", op: "put", item });
          return deps.sheets.putBlock(uploadId, block, rows);
        },
        deleteRows(uploadId) {
          const { pk } = rowsKey(uploadId, 0);
          for (const { kind, op, item } of [...stored]) {
            if (kind !== "rows" || op !== "put" || item.pk?.S !== pk?.S) continue;
            keep({ kind, table: "bulk", op: "delete", item: { pk, sk: item.sk } as Item });
          }
          return deps.sheets.deleteRows(uploadId);
        },
      },
      background: (task) => void tasks.push(task()),
    },
    clock,
    stored,
    async step(name, work) {
      step = name;
      clock.time += 1_000;
      await work();
      while (tasks.length > 0) await tasks.shift();
    },
  };
}
