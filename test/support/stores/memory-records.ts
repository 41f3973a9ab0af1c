/** The items of the store in memory as records, past the requests that read and write them. */

import { versionOf } from "../../../src/platform/dynamodb/codec.ts";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { type Loaded, nameOf } from "../../../src/platform/engine/item-store.ts";
import type { Kind, Records, Ref } from "../../../src/platform/ports/records.ts";
import { entryRef } from "../../../src/points/ports/records.ts";
import { codecOf, toItem } from "../../../src/store/codecs.ts";
import { copyOf, keyOf, type Table } from "./dynamo/items.ts";
import type { BeforeItem as BeforeKey } from "./dynamo/transactions.ts";
import { firstVersion } from "./first-version.ts";

/** A record of the store in memory. */
export interface Stored {
  readonly ref: Ref;
  readonly value: Records[Kind];
  readonly version: number;
}

/**
 * Called before an item of a transaction is applied (for packed entries with the first one), and
 * before a plain read returns a record. Each item waits by itself.
 */
export type BeforeItem = (op: "apply" | "read", ref: Ref) => void | Promise<void>;

/** Finds the records of items by the refs that were read or written before. */
export function createRecords(tables: ReadonlyMap<string, Table>) {
  const refs = new Map<Table, Map<string, Ref>>();
  const decoded = new WeakMap<Item, readonly Stored[]>();

  const positionOf = (ref: Ref) => {
    const { table: name, key } = codecOf(ref.kind);
    const table = tables.get(name) as Table;
    return { table, key: keyOf(key(ref.id), table.primary.keys) };
  };

  function know(read: readonly Ref[]): void {
    for (const ref of read) {
      const { table, key } = positionOf(ref);
      const known = refs.get(table);
      if (known) known.set(key, ref);
      else refs.set(table, new Map([[key, ref]]));
    }
  }

  /** The records of an item, which are several for packed entries. */
  function recordsOf(ref: Ref, item: Item): readonly Stored[] {
    const known = decoded.get(item);
    if (known) return known;
    const made = unpacked(ref, item).map(([each, single]) => ({
      ref: each,
      value: codecOf(each.kind).decode(single),
      version: versionOf(item),
    }));
    decoded.set(item, made);
    return made;
  }

  const stored = (): Stored[] =>
    [...tables.values()].flatMap((table) =>
      [...table.rows].flatMap(([key, { item }]) => {
        const ref = refs.get(table)?.get(key);
        return ref ? recordsOf(ref, item) : [];
      }),
    );

  const put = (ref: Ref, item: Item) => {
    know([ref]);
    positionOf(ref).table.put(copyOf(item));
  };

  /** Stores the packed entries of the item that has this one each by itself. */
  function unpack(ref: Ref): void {
    const { table, key } = positionOf(ref);
    const hash = codecOf(ref.kind).key(ref.id).pk?.S ?? "";
    const entries = table.primary.partitions.get(hash) ?? [];
    const packing = entries.findLast(({ row }) => row.key <= key)?.row;
    const first = packing && refs.get(table)?.get(packing.key);
    if (first?.kind !== "entry") return;
    for (const [each, item] of unpacked(first, packing?.item ?? {})) put(each, item);
  }

  return {
    /** Remembers refs, so that their items can be found. */
    know,
    stored,

    /** A hook before items that calls one before records. */
    byRef:
      (hook: BeforeItem): BeforeKey =>
      (op, table, key) => {
        const ref = refs.get(table)?.get(key);
        return ref && hook(op, ref);
      },

    force<K extends Kind>(ref: Ref<K>, value: Records[K] | undefined): void {
      if (ref.kind === "entry") unpack(ref);
      const { table, key } = positionOf(ref);
      const found = table.rows.get(key);
      if (value === undefined) table.delete(key);
      else {
        const next = found ? versionOf(found.item) + 1 : firstVersion(ref.kind, value);
        put(ref, toItem(ref, value, next));
      }
    },

    restore(records: readonly Stored[]): void {
      for (const { ref, value, version } of records) put(ref, toItem(ref, value, version));
    },

    dump(): Record<string, Loaded> {
      const all = stored().map(({ ref, value, version }) => [nameOf(ref), { value, version }]);
      return Object.fromEntries(all.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
    },
  };
}

/** The items of packed entries as if each was stored by itself; of other records the item. */
function unpacked(ref: Ref, whole: Item): [Ref, Item][] {
  if (ref.kind !== "entry") return [[ref, whole]];
  const { l, ...item } = whole;
  const [programId = "", userId = "", number] = ref.id.split("#");
  const further = (l?.L ?? []).map(({ M = {} }, i): [Ref, Item] => {
    const next = entryRef(programId, userId, Number(number) + 1 + i);
    return [next, { ...M, ...codecOf("entry").key(next.id), v: item.v as Item[string] }];
  });
  return [[ref, item], ...further];
}
