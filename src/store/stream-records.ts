/** Finds the records of items whose changes the streams of the tables tell. */
import type {
  StoredChange,
  StoredRecord,
  StreamedKind,
  StreamedTable,
} from "../events/ports/changes.ts";
import { versionOf } from "../platform/dynamodb/codec.ts";
import { type Item, text } from "../platform/dynamodb/sdk/attributes.ts";
import type { Ref } from "../platform/ports/records.ts";
import { entriesOf } from "../points/store/ledger-items.ts";
import { codecOf } from "./codecs.ts";
import { refOf } from "./scan.ts";

/**
 * The attributes that every item of a kind has. Codecs read what is missing as 0 or empty, so that
 * a page with a damaged item can be read; an event must not tell such a value.
 */
const required: Readonly<Record<StreamedKind, readonly string[]>> = {
  program: ["z", "l", "t"],
  entry: ["y", "e", "t", "p", "b", "w"],
  reservation: ["u", "p", "s", "c"],
  hold: ["u", "g", "s", "c"],
  bulkGrant: ["r", "is"],
  target: ["ip", "c"],
  unreadGroup: ["g", "l", "p"],
  readGroup: ["l", "p", "d"],
};

/** The item of a change before and after it. */
interface ChangedItem {
  readonly keys: Item;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

/** The records of a changed item, or its keys if it cannot be decoded. Never throws. */
export function decodeChange(
  table: StreamedTable,
  { keys, before, after }: ChangedItem,
): Pick<StoredChange, "before" | "after" | "unreadable"> {
  try {
    return { before: recordsOf(table, before), after: recordsOf(table, after) };
  } catch {
    const unreadable = [keys.pk?.S, keys.sk?.S].filter((part) => part !== undefined).join(" ");
    return { before: [], after: [], unreadable };
  }
}

/** Throws for an item that is not whole. */
function recordsOf(table: StreamedTable, item: Item | undefined): readonly StoredRecord[] {
  const ref = item && streamedRefOf(table, item);
  if (!ref) return [];
  const version = versionOf(item);
  if (!(Number.isSafeInteger(version) && version > 0)) throw new Error("an item has no version");
  const packed = ref.kind === "entry" ? (item.l?.L ?? []).map(({ M = {} }) => M) : [];
  for (const part of [item, ...packed]) {
    const missing = required[ref.kind].find((name) => part[name] === undefined);
    if (missing !== undefined) throw new Error(`an item has no ${missing}`);
  }
  if (ref.kind !== "entry") {
    return [{ ...ref, value: codecOf(ref.kind).decode(item), version } as StoredRecord];
  }
  return entriesOf(item).map((value) => ({
    kind: "entry",
    id: `${ref.id}#${value.number}`,
    value,
    version,
  }));
}

/**
 * The record of an item, or of the account of the entries in it; undefined for the other kinds. The
 * tables share some forms of keys, such as those of leases and of read groups.
 */
function streamedRefOf(table: StreamedTable, item: Item): Ref<StreamedKind> | undefined {
  const [pk, sk] = [text(item, "pk"), text(item, "sk")];
  const id = pk.slice(2);
  switch (table) {
    case "points":
      if (pk === "P") return { kind: "program", id: sk };
      return pk.startsWith("A#") && sk.startsWith("L#") ? { kind: "entry", id } : undefined;
    case "notifications":
      if (pk.startsWith("H#")) return { kind: "readGroup", id: readGroupId(id, sk) };
      return onlyOf(["unreadGroup"], item);
    case "reservations":
      return onlyOf(["reservation", "hold"], item);
    case "bulk":
      return onlyOf(["bulkGrant"], item);
    case "reactions":
      return onlyOf(["target"], item);
  }
}

/** The record of an item if it is of one of these kinds. */
function onlyOf<K extends "unreadGroup" | "reservation" | "hold" | "bulkGrant" | "target">(
  kinds: readonly K[],
  item: Item,
): Ref<K> | undefined {
  const ref = refOf(item);
  return kinds.includes(ref?.kind as K) ? (ref as Ref<K>) : undefined;
}

/** The key has the generation with leading zeros, the id has it without. */
function readGroupId(ownerId: string, sk: string): string {
  const at = sk.lastIndexOf("#") + 1;
  return `${ownerId}#${sk.slice(0, at)}${Number(sk.slice(at))}`;
}
