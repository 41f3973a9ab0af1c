/**
 * How the ledger lies in its items. An entry stands in an item of its own; but of entries that one
 * transaction writes one behind the other, the first takes the others along, in the list `l`, as
 * far as its item stays under 1 KB. So a hot account pays for a few items, not for one a grant
 * (docs/decisions/0011).
 */
import { type AttributeValue, type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import type {
  AccountName,
  Kind,
  LedgerQuery,
  Page,
  PageRequest,
  Records,
  Ref,
} from "../../app/ports.ts";
import type { LedgerEntry } from "../../domain/ledger.ts";
import type { ItemCounter, Loaded, Write } from "../items.ts";
import { orUnavailable } from "./client.ts";
import { codecOf, type Item, toItem, versionOf } from "./codecs.ts";
import { itemSize, valueSize } from "./item-size.ts";
import { badCursor } from "./pages.ts";

/** What an item may grow to. */
const maxBytes = 1_024;

/** How many entries share an item at most, so that one is found wherever its item begins. */
const maxPacked = 16;

/** What an empty list takes, its name counted. */
const listBytes = 4;

/** The highest number that the 12 digits of an entry's key hold. */
const maxNumber = 10 ** 12 - 1;

const codec = codecOf("entry");

/** The writes of a transaction by the items they go into. */
export interface Packing extends ItemCounter {
  readonly items: readonly (readonly Write[])[];
}

/**
 * Packs writes as they come: a new entry that follows the one before it goes into the same item
 * while that stays small; everything else has an item of its own.
 */
export function startPacking(): Packing {
  const items: Write[][] = [];
  let open: { item: Write[]; bytes: number; next: string } | undefined;
  function add(write: Write): number {
    const { ref, op, version } = write;
    if (ref.kind !== "entry" || op !== "put" || version !== 0) return items.push([write]);
    const next = ref.id.replace(/\d+$/, (number) => String(Number(number) + 1));
    const bytes = 1 + valueSize(packed(write));
    const isNext = open?.next === ref.id && open.item.length < maxPacked;
    if (open && isNext && open.bytes + bytes <= maxBytes) {
      open.item.push(write);
      open.bytes += bytes;
      open.next = next;
      return items.length;
    }
    open = { item: [write], bytes: itemSize(itemOf([write])) + listBytes, next };
    return items.push(open.item);
  }
  return { items, add };
}

/** The writes of a whole transaction by the items they go into. */
export function pack(writes: readonly Write[]): Packing["items"] {
  const packing = startPacking();
  for (const write of writes) packing.add(write);
  return packing.items;
}

/** The item that is put for writes that share it. */
export function itemOf([first, ...others]: readonly Write[]): Item {
  const { ref, value, next } = first as Write;
  const item = toItem(ref, value as Records[Kind], next);
  return others.length > 0 ? { ...item, l: { L: others.map(packed) } } : item;
}

const packed = ({ ref, value }: Write): AttributeValue => ({
  M: codec.encode(value as LedgerEntry, ref.id),
});

/** Reads one entry. */
export async function readEntry(
  client: DynamoDBClient,
  TableName: string,
  { id }: Ref,
): Promise<Loaded> {
  const at = id.lastIndexOf("#");
  const [account, number] = [id.slice(0, at), Number(id.slice(at + 1))];
  if (number > maxNumber) return { value: undefined, version: 0 };
  const command = new QueryCommand({
    TableName,
    ...between(account, number, number),
    ScanIndexForward: false,
    Limit: 1,
  });
  const { Items: [item] = [] } = await client.send(command);
  const value = item && entriesOf(item).find((entry) => entry.number === number);
  return value ? { value, version: versionOf(item) } : { value: undefined, version: 0 };
}

/** One page of a ledger. Its cursor is the number of the entry that comes next. */
export async function listEntries(
  client: DynamoDBClient,
  TableName: string,
  { program, user }: AccountName,
  { from, to, newestFirst, types }: LedgerQuery,
  { size, cursor }: PageRequest,
): Promise<Page<LedgerEntry>> {
  const start = cursor === undefined ? undefined : placeOf(cursor, from, to);
  const first = newestFirst ? from : (start ?? from);
  const last = newestFirst ? (start ?? to) : to;
  const command = new QueryCommand({
    TableName,
    ...between(`${program}#${user}`, first, last),
    ScanIndexForward: !newestFirst,
    // Where the oldest come first, items from before the first entry come with them.
    Limit: newestFirst ? size : size + maxPacked - 1,
  });
  const { Items = [], LastEvaluatedKey } = await orUnavailable(client.send(command));
  const read = Items.flatMap(entriesOf).filter(({ number }) => number >= first && number <= last);
  const found = read.sort((a, b) => (newestFirst ? b.number - a.number : a.number - b.number));
  const looked = found.slice(0, size);
  const items = looked.filter(({ type }) => types.length === 0 || types.includes(type));
  const next = (looked.at(-1)?.number ?? Number.NaN) + (newestFirst ? -1 : 1);
  const isMore = found.length > size || LastEvaluatedKey !== undefined;
  return isMore && next >= first && next <= last ? { items, cursor: String(next) } : { items };
}

function entriesOf(item: Item): LedgerEntry[] {
  const first = codec.decode(item);
  const others = (item.l?.L ?? []).map(({ M }, i) => {
    const key = codec.key(`#${first.number + 1 + i}`);
    return codec.decode({ ...M, ...key });
  });
  return [first, ...others];
}

/** Finds all items that may hold entries of these numbers. */
const between = (account: string, first: number, last: number) => ({
  ConsistentRead: true,
  KeyConditionExpression: "pk = :a AND sk BETWEEN :first AND :last",
  ExpressionAttributeValues: {
    ":a": codec.key(`${account}#0`).pk as AttributeValue,
    ":first": codec.key(`#${Math.max(first - maxPacked + 1, 0)}`).sk as AttributeValue,
    ":last": codec.key(`#${last}`).sk as AttributeValue,
  },
});

/** A cursor comes from outside: one that is no number of the list is the caller's mistake. */
function placeOf(cursor: string, from: number, to: number): number {
  const number = /^\d+$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (number >= from && number <= to) return number;
  throw badCursor();
}
