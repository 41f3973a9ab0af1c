/** Reads ledger entries, of which an item has up to 16 (`pack`). */
import {
  type AttributeValue,
  type DynamoDBClient,
  PutItemCommand,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import { versionOf } from "../../platform/dynamodb/codec.ts";
import type { Item } from "../../platform/dynamodb/sdk/attributes.ts";
import { orUnavailable } from "../../platform/dynamodb/sdk/client.ts";
import { pageAnswer, pageOf, startOf } from "../../platform/dynamodb/sdk/query-pages.ts";
import type { Loaded } from "../../platform/engine/item-store.ts";
import { badCursor, type Page, type PageRequest } from "../../platform/ports/pages.ts";
import type { Ref } from "../../platform/ports/records.ts";
import type { AccountName, LedgerQuery, RemoveSnapshot } from "../ports/points.ts";
import type { LedgerEntry } from "../rules/ledger.ts";
import { entry as codec, maxPacked, withoutSnapshot } from "./codecs/points.ts";

/** The highest number that the 12 digits of an entry's key hold. */
const maxNumber = 10 ** 12 - 1;

/** Reads one entry, wherever it is packed. */
export async function readEntry(
  client: DynamoDBClient,
  TableName: string,
  { id }: Ref,
): Promise<Loaded> {
  const at = id.lastIndexOf("#");
  const [account, number] = [id.slice(0, at), Number(id.slice(at + 1))];
  const item = await lastItemUpTo(client, TableName, account, number);
  const value = item && entriesOf(item).find((entry) => entry.number === number);
  return value ? { value, version: versionOf(item) } : { value: undefined, version: 0 };
}

/** The item that has the entry of this number, if there is one. */
async function lastItemUpTo(
  client: DynamoDBClient,
  TableName: string,
  account: string,
  number: number,
): Promise<Item | undefined> {
  if (number > maxNumber) return undefined;
  const command = new QueryCommand({
    TableName,
    ...between(account, number, number),
    ScanIndexForward: false,
    Limit: 1,
  });
  const { Items: [item] = [] } = await client.send(command);
  return item;
}

/**
 * Removes snapshots of entries, wherever they are packed. Nothing else of an entry ever changes, so
 * the item is written back without a condition.
 */
export function createSnapshotRemover(client: DynamoDBClient, TableName: string): RemoveSnapshot {
  return async ({ programId, userId }, number) => {
    const account = `${programId}#${userId}`;
    const item = await orUnavailable(lastItemUpTo(client, TableName, account, number));
    if (!item) return;
    const at = number - codec.decode(item).number - 1;
    const list = item.l?.L?.map(({ M = {} }, i) => ({ M: i === at ? withoutSnapshot(M) : M }));
    const Item = at < 0 ? withoutSnapshot(item) : { ...item, ...(list && { l: { L: list } }) };
    await orUnavailable(client.send(new PutItemCommand({ TableName, Item })));
  };
}

/**
 * One page of a ledger. Items hold 1 to 16 entries, so the number of items to request is an
 * estimate: the first request of a list assumes full items; each further request, and the next
 * page, assumes the density (entries in an item) of the request before.
 */
export async function listEntries(
  client: DynamoDBClient,
  TableName: string,
  { programId, userId }: AccountName,
  { from, to, newestFirst, types }: LedgerQuery,
  { size, cursor }: PageRequest,
): Promise<Page<LedgerEntry>> {
  const start = cursor === undefined ? undefined : pageStartOf(cursor, from, to);
  const first = newestFirst ? from : (start?.next ?? from);
  const last = newestFirst ? (start?.next ?? to) : to;
  const offset = newestFirst ? maxPacked - 1 : (start?.offset ?? maxPacked - 1);
  const range = between(`${programId}#${userId}`, first, last, offset);
  const found: PackedEntry[] = [];
  let density = start?.density ?? maxPacked;
  // One item more, because the page may start at the end of its first item.
  let limit = Math.ceil(size / density) + (density > 1 ? 1 : 0);
  let key: Item | undefined;
  do {
    const input = { TableName, ...range, ScanIndexForward: !newestFirst, Limit: limit };
    const command = new QueryCommand({ ...input, ExclusiveStartKey: key });
    const { Items = [], LastEvaluatedKey } = await orUnavailable(client.send(command));
    const read = Items.flatMap(packedEntries);
    found.push(...read.filter(({ entry: { number } }) => number >= first && number <= last));
    if (Items.length > 0) density = read.length / Items.length;
    // With the oldest entry first, the range begins `offset` entries before the page: entries
    // before the first one have still to be read.
    const before = newestFirst ? 0 : first - 1 - (read.at(-1)?.entry.number ?? first);
    limit = Math.max(Math.ceil((size - found.length + Math.max(before, 0)) / density), 1);
    key = LastEvaluatedKey;
  } while (found.length < size && key);
  found.sort(({ entry: a }, { entry: b }) =>
    newestFirst ? b.number - a.number : a.number - b.number,
  );
  const entries = found.slice(0, size).map(({ entry }) => entry);
  const items = entries.filter(({ type }) => types.length === 0 || types.includes(type));
  const next = (entries.at(-1)?.number ?? Number.NaN) + (newestFirst ? -1 : 1);
  const isMore = found.length > size || key !== undefined;
  if (!isMore || !(next >= first && next <= last)) return { items };
  return { items, cursor: cursorOf(next, found[size]?.offset ?? 0, density) };
}

/** An entry and how many entries precede it in its item. */
interface PackedEntry {
  readonly entry: LedgerEntry;
  readonly offset: number;
}

const packedEntries = (item: Item): PackedEntry[] =>
  entriesOf(item).map((entry, offset) => ({ entry, offset }));

/** One page of items with all their entries. */
export async function listStoredEntries(
  client: DynamoDBClient,
  TableName: string,
  { programId, userId }: AccountName,
  { size, cursor }: PageRequest,
): Promise<Page<LedgerEntry>> {
  const range = between(`${programId}#${userId}`, 0, maxNumber, 0);
  const command = new QueryCommand({ TableName, ...range, Limit: size, ...startOf(cursor) });
  const { Items = [], LastEvaluatedKey } = await pageAnswer(client.send(command), cursor);
  return pageOf(Items.flatMap(entriesOf), LastEvaluatedKey);
}

/** All entries of an item. */
export function entriesOf(item: Item): LedgerEntry[] {
  const first = codec.decode(item);
  const further = (item.l?.L ?? []).map(({ M }, i) => {
    const key = codec.key(`#${first.number + 1 + i}`);
    return codec.decode({ ...M, ...key });
  });
  return [first, ...further];
}

/**
 * The key condition for all items that may hold entries of these numbers. At most `offset` entries
 * precede the first one in its item.
 */
const between = (account: string, first: number, last: number, offset = maxPacked - 1) => ({
  ConsistentRead: true,
  KeyConditionExpression: "pk = :a AND sk BETWEEN :first AND :last",
  ExpressionAttributeValues: {
    ":a": codec.key(`${account}#0`).pk as AttributeValue,
    ":first": codec.key(`#${Math.max(first - offset, 0)}`).sk as AttributeValue,
    ":last": codec.key(`#${Math.min(last, maxNumber)}`).sk as AttributeValue,
  },
});

/** The key condition for all items that may hold entries from this number on. */
export const itemsFrom = (account: string, first: number) => between(account, first, maxNumber);

/** Where a page starts. */
interface PageStart {
  /** The number of its first entry. */
  readonly next: number;
  /** How many entries precede that entry in its item. */
  readonly offset: number;
  /** How many entries an item of the page before had on average. */
  readonly density: number;
}

const cursorOf = (next: number, offset: number, density: number): string =>
  `${next}~${offset}~${Math.round(density)}`;

/**
 * Parses a cursor, which comes from outside: throws INVALID_REQUEST unless `cursorOf` may have
 * returned it for this list.
 */
function pageStartOf(cursor: string, from: number, to: number): PageStart {
  const [, next, offset, density] = /^(\d+)~(\d|1[0-5])~([1-9]|1[0-6])$/.exec(cursor) ?? [];
  const number = Number(next);
  if (!(number >= from && number <= to)) throw badCursor();
  return { next: number, offset: Number(offset), density: Number(density) };
}
