/** The items of a table in memory, sorted by the keys of the table and of its indexes. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { TableDefinition } from "../../../../src/ops/tables/definitions.ts";
import type { Item } from "../../../../src/platform/dynamodb/sdk/attributes.ts";
import { itemSize } from "../../../../src/platform/dynamodb/sdk/item-size.ts";
import { invalid } from "./errors.ts";

/** A sort key as JavaScript orders it: numbers, or texts of `orderOf`. */
export type Sort = string | number;

/** An item that is stored. Nobody may change it. */
export interface Row {
  readonly item: Item;
  readonly bytes: number;
  /** The primary key. */
  readonly key: string;
}

/** The position of a row. Rows with the same sort key, which only an index has, follow `tie`. */
export interface Position {
  readonly sort: Sort;
  readonly tie: string;
}

export interface Entry extends Position {
  readonly row: Row;
}

/** The names of the key attributes of a table or of an index. */
export interface Keys {
  readonly hash: string;
  readonly range: string | undefined;
}

/** A table's items by their keys, or those that have the keys of an index. */
export interface Index {
  readonly keys: Keys;
  /** Global indexes are read without strong consistency. */
  readonly kind: "primary" | "local" | "global";
  /** The entries by the hash key, in their order. */
  readonly partitions: Map<string, Entry[]>;
  /** Grows when a partition is added or deleted. */
  changes: number;
}

export interface Table {
  readonly name: string;
  /** The key attributes of the table and of all its indexes, with their types. */
  readonly types: Readonly<Record<string, "S" | "N">>;
  readonly primary: Index;
  readonly indexes: ReadonlyMap<string, Index>;
  readonly rows: ReadonlyMap<string, Row>;
  /** The keys of the items that a transaction is writing. */
  readonly locked: Set<string>;
  /** Keeps the item as it is: nobody may change it any more. */
  put(item: Item, bytes?: number): void;
  delete(key: string): void;
}

export function createTable({ create }: TableDefinition): Table {
  const { TableName: name, AttributeDefinitions = [], KeySchema } = create;
  const types = Object.fromEntries(
    AttributeDefinitions.map((each) => [each.AttributeName, each.AttributeType]),
  ) as Record<string, "S" | "N">;
  const primary = createIndex(KeySchema, "primary");
  const indexes = new Map([
    ...(create.LocalSecondaryIndexes ?? []).map(
      (each) => [each.IndexName ?? "", createIndex(each.KeySchema, "local")] as const,
    ),
    ...(create.GlobalSecondaryIndexes ?? []).map(
      (each) => [each.IndexName ?? "", createIndex(each.KeySchema, "global")] as const,
    ),
  ]);
  const all = [primary, ...indexes.values()];
  const rows = new Map<string, Row>();

  function remove(key: string): void {
    const row = rows.get(key);
    if (row) for (const index of all) removeFrom(index, row);
  }

  return {
    ...{ name, types, primary, indexes, rows },
    locked: new Set(),
    put(item, bytes = itemSize(item)) {
      const row = { item, bytes, key: keyOf(item, primary.keys) };
      remove(row.key);
      rows.set(row.key, row);
      for (const index of all) addTo(index, row);
    },
    delete(key) {
      remove(key);
      rows.delete(key);
    },
  };
}

type KeySchema = TableDefinition["create"]["KeySchema"];

function createIndex(schema: KeySchema, kind: Index["kind"]): Index {
  const [hash, range] = (schema ?? []).map(({ AttributeName }) => AttributeName);
  return { keys: { hash: hash as string, range }, kind, partitions: new Map(), changes: 0 };
}

/** The primary key as text, which is the same for equal keys only. */
export function keyOf(item: Item, { hash, range }: Keys): string {
  const sort = range === undefined ? "" : orderOf(item[range]?.S ?? "");
  return `${item[hash]?.S}\u0000${sort}`;
}

/**
 * The position of an item, or of its keys, in an index; undefined if it is not in it. The order of
 * equal sort keys is that of a hash, as in DynamoDB, so that nobody depends on it.
 */
export function positionOf(item: Item, { keys: { range }, kind }: Index, key: string) {
  const tie = kind === "primary" ? key : `${hashOf(key)} ${key}`;
  if (range === undefined) return { sort: "", tie };
  const { S, N } = item[range] ?? {};
  const sort = N === undefined ? S && orderOf(S) : Number(N);
  return sort === undefined ? undefined : { sort, tie };
}

/**
 * FNV-1a, whose bits MurmurHash3's last steps mix, because the first bits of a hash decide on the
 * segment of a scan. DynamoDB's own hash is not known.
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * A text that JavaScript orders as DynamoDB orders the given one: by the bytes of UTF-8. UTF-16 has
 * the surrogates of characters above U+FFFF before the last ones below it, so the two are swapped.
 */
export function orderOf(text: string): string {
  if (!/[\ud800-\uffff]/.test(text)) return text;
  const swapped = Uint16Array.from({ length: text.length }, (_, i) => {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800) return unit;
    return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
  });
  return String.fromCharCode(...swapped);
}

function entryOf(row: Row, index: Index): { hash: string; entry: Entry } | undefined {
  const hash = row.item[index.keys.hash]?.S;
  const position = hash === undefined ? undefined : positionOf(row.item, index, row.key);
  return hash !== undefined && position ? { hash, entry: { ...position, row } } : undefined;
}

function addTo(index: Index, row: Row): void {
  const { hash, entry } = entryOf(row, index) ?? {};
  if (hash === undefined || !entry) return;
  const entries = index.partitions.get(hash);
  if (entries) {
    entries.splice(
      firstIndex(entries, (each) => isBefore(entry, each)),
      0,
      entry,
    );
    return;
  }
  index.partitions.set(hash, [entry]);
  index.changes += 1;
}

function removeFrom(index: Index, row: Row): void {
  const { hash, entry } = entryOf(row, index) ?? {};
  const entries = hash === undefined ? undefined : index.partitions.get(hash);
  if (hash === undefined || !entry || !entries) return;
  if (entries.length > 1) {
    entries.splice(
      firstIndex(entries, (each) => !isBefore(each, entry)),
      1,
    );
    return;
  }
  index.partitions.delete(hash);
  index.changes += 1;
}

export const isBefore = (a: Position, b: Position): boolean =>
  a.sort < b.sort || (a.sort === b.sort && a.tie < b.tie);

/** The index of the first entry of which `holds` is true, as it is of all after it. */
export function firstIndex(entries: readonly Entry[], holds: (entry: Entry) => boolean): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(entries[middle] as Entry)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * A copy, like the bytes on the wire, which reads return as it is: decoding makes new values. It is
 * not frozen, because V8 copies frozen objects slowly, and every read of a record makes a copy.
 */
export function copyOf(item: Item): Item {
  const copy = { ...item };
  for (const [name, value] of Object.entries(item)) {
    if (value === undefined) delete copy[name];
    else if (value.B !== undefined || value.L !== undefined || value.M !== undefined) {
      copy[name] = valueCopy(value);
    }
  }
  return copy;
}

function valueCopy(value: AttributeValue): AttributeValue {
  if (value.B !== undefined) return { B: Uint8Array.from(value.B) };
  if (value.L !== undefined) return { L: value.L.map(valueCopy) };
  return value.M === undefined ? value : { M: copyOf(value.M) };
}

/** Throws unless an item has valid keys for the table and for the indexes that it is in. */
export function checkKeys(table: Table, item: Item): void {
  const { hash, range } = table.primary.keys;
  for (const [name, type] of Object.entries(table.types)) {
    const value = item[name];
    const isOfTable = name === hash || name === range;
    if (value === undefined && !isOfTable) continue;
    const text = value?.[type];
    if (text === undefined || text === "") throw invalid(`the key attribute ${name} is not valid`);
  }
}

/** The text of a primary key. Throws unless it has exactly the attributes of one. */
export function checkedKey(table: Table, key: Item): string {
  const { keys } = table.primary;
  checkKeys(table, key);
  const count = keys.range === undefined ? 1 : 2;
  if (Object.keys(key).length !== count) throw invalid("the key does not match the schema");
  return keyOf(key, keys);
}

/** The limit of an item in bytes. */
const maxBytes = 400 * 2 ** 10;

/** The size of an item. Throws unless DynamoDB takes it. */
export function checkedSize(table: Table, item: Item): number {
  checkKeys(table, item);
  for (const value of Object.values(item)) checkNumbers(value);
  const bytes = itemSize(item);
  if (bytes > maxBytes) throw invalid("the item is larger than 400 KB");
  return bytes;
}

function checkNumbers(value: AttributeValue): void {
  if (value?.N !== undefined && !Number.isFinite(Number(value.N))) {
    throw invalid(`${value.N} is no number`);
  }
  if (value?.L) value.L.forEach(checkNumbers);
  if (value?.M) Object.values(value.M).forEach(checkNumbers);
}
