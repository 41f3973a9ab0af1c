/** Answers queries and scans of a table in memory, page by page as DynamoDB cuts them. */
import type {
  QueryCommandInput,
  QueryCommandOutput,
  ScanCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../../src/platform/dynamodb/sdk/attributes.ts";
import {
  conditionOf,
  nameOf,
  type Placeholders,
  parseExpression,
  projectionOf,
  type Term,
} from "../../../../tools/dynamo-proxy/expressions.ts";
import { UnsupportedRequest } from "../../../../tools/dynamo-proxy/wire.ts";
import { invalid } from "./errors.ts";
import {
  checkKeys,
  firstIndex,
  hashOf,
  type Index,
  isBefore,
  keyOf,
  orderOf,
  type Position,
  positionOf,
  type Row,
  type Sort,
  type Table,
} from "./items.ts";
import { checkExpressions, checkFilter, termsOf } from "./requests.ts";

/** A page ends when its items have so many bytes. */
const maxBytes = 2 ** 20;

type Answer = Omit<QueryCommandOutput, "$metadata">;

/** Reads a page of the table or of an index, in the order of its sort key. */
export function queryPage(table: Table, input: QueryCommandInput): Answer {
  const { ScanIndexForward: isForward = true, ExclusiveStartKey: start } = input;
  const index = indexOf(table, input);
  if (index.kind === "global" && input.ConsistentRead)
    throw invalid("a global index reads no newest items");
  const { hash, range } = keyConditionOf(table, index, input);
  const entries = index.partitions.get(hash) ?? [];
  let from = firstIndex(entries, ({ sort }) => !range.isBelow(sort));
  let to = firstIndex(entries, ({ sort }) => range.isAbove(sort));
  if (start !== undefined) {
    const position = startPosition(table, index, start);
    const isOutside = range.isBelow(position.sort) || range.isAbove(position.sort);
    if (start[index.keys.hash]?.S !== hash || isOutside) throw invalid("the start key is outside");
    if (isForward) from = firstIndex(entries, (each) => isBefore(position, each));
    else to = firstIndex(entries, (each) => !isBefore(each, position));
  }
  const rowAt = (i: number) =>
    from + i < to ? entries[isForward ? from + i : to - 1 - i]?.row : undefined;
  return pageOf(table, index, rowAt, input);
}

/** Reads a page of a segment of the table, in the order of the hashes of its partitions. */
export function scanPage(table: Table, input: ScanCommandInput): Answer {
  const { Segment = 0, TotalSegments = 1, ExclusiveStartKey: start } = input;
  const { primary } = table;
  checkExpressions(input);
  const position = start && startPosition(table, primary, start);
  const first = start && partitionOf(start[primary.keys.hash]?.S ?? "");
  const isOfSegment = ({ hash }: Partition) =>
    Math.floor((hash / 2 ** 32) * TotalSegments) === Segment;
  if (first && !isOfSegment(first)) throw invalid("the start key is of another segment");
  const rows = partitionsOf(primary)
    .filter((each) => isOfSegment(each) && !(first && compare(each, first) < 0))
    .flatMap(({ name }) => primary.partitions.get(name) ?? [])
    .filter((each) => {
      const isOfFirst = each.row.item[primary.keys.hash]?.S === first?.name;
      return !(position && isOfFirst) || isBefore(position, each);
    });
  return pageOf(table, primary, (i) => rows[i]?.row, input);
}

interface Partition {
  readonly name: string;
  readonly hash: number;
}

const compare = (a: Partition, b: Partition): number =>
  a.hash - b.hash || (a.name === b.name ? 0 : a.name < b.name ? -1 : 1);

const partitionOf = (name: string): Partition => ({ name, hash: hashOf(name) });

/** The partitions of a table in the order of scans, as of the number of its changes. */
const orders = new WeakMap<Index, { readonly changes: number; readonly order: Partition[] }>();

function partitionsOf(index: Index): readonly Partition[] {
  const known = orders.get(index);
  if (known?.changes === index.changes) return known.order;
  const order = [...index.partitions.keys()].map(partitionOf).sort(compare);
  orders.set(index, { changes: index.changes, order });
  return order;
}

function indexOf({ indexes, primary }: Table, { IndexName }: QueryCommandInput): Index {
  const index = IndexName === undefined ? primary : indexes.get(IndexName);
  if (!index) throw invalid(`the table has no index ${IndexName}`);
  return index;
}

/** Cuts the page from the rows in their order, and filters and projects its items. */
function pageOf(
  { primary }: Table,
  index: Index,
  rowAt: (i: number) => Row | undefined,
  input: QueryCommandInput | ScanCommandInput,
): Answer {
  const { Limit = Number.POSITIVE_INFINITY, Select } = input;
  if (Limit < 1) throw invalid("a page has at least one item");
  const names = projectionOf(input.ProjectionExpression, input);
  const passes = conditionOf(input.FilterExpression, input);
  const read: Row[] = [];
  let bytes = 0;
  const isFull = () => read.length >= Limit || bytes > maxBytes;
  for (let row = rowAt(0); row && !isFull(); row = rowAt(read.length)) {
    read.push(row);
    bytes += row.bytes;
  }
  const found = read.map(({ item }) => item).filter(passes);
  const last = read.at(-1)?.item;
  return {
    ...(Select !== "COUNT" && { Items: names ? found.map((item) => pick(item, names)) : found }),
    Count: found.length,
    ScannedCount: read.length,
    ...(last && isFull() && { LastEvaluatedKey: pick(last, keyNames(index, primary)) }),
  };
}

/** The attributes of a cursor. */
const keyNames = (index: Index, primary: Index): string[] =>
  [index.keys.hash, index.keys.range, primary.keys.hash, primary.keys.range].flatMap(
    (name) => name ?? [],
  );

const pick = (item: Item, names: readonly string[]): Item =>
  Object.fromEntries(names.flatMap((name) => (item[name] ? [[name, item[name]]] : [])));

/**
 * The position of a cursor. Throws unless it has exactly the keys of the index and of the table.
 */
function startPosition(table: Table, index: Index, start: Item): Position {
  checkKeys(table, start);
  const names = new Set(keyNames(index, table.primary));
  const given = Object.keys(start);
  if (given.length !== names.size || !given.every((name) => names.has(name))) {
    throw invalid("the provided starting key is invalid");
  }
  return positionOf(start, index, keyOf(start, table.primary.keys)) ?? { sort: "", tie: "" };
}

/** Which sort keys are before a range, and which are behind it. */
interface Range {
  isBelow(sort: Sort): boolean;
  isAbove(sort: Sort): boolean;
}

const no = () => false;

/** The hash key that a query asks for, and its range of sort keys. */
function keyConditionOf(table: Table, { keys }: Index, input: QueryCommandInput) {
  checkExpressions(input);
  const expression = parseExpression(input.KeyConditionExpression ?? "");
  if ("part" in expression || expression.op === "OR") throw invalid("no range of keys");
  const terms = termsOf(expression);
  const of = (name: string | undefined) =>
    terms.filter(({ path }) => name !== undefined && nameOf(path, input) === name);
  const [hashes, ranges] = [of(keys.hash), of(keys.range)];
  const [hash, range] = [hashes[0], ranges[0]];
  const isKnown = hashes.length + ranges.length === terms.length && ranges.length <= 1;
  if (hash?.op !== "=" || hashes.length > 1 || !isKnown) {
    throw invalid("the key condition does not fit the keys");
  }
  if (input.FilterExpression) checkFilter(input.FilterExpression, keys, input);
  const [value = ""] = textsOf(hash, "S", input);
  const type = table.types[keys.range ?? ""] ?? "S";
  return {
    hash: value,
    range: range ? rangeOf(range, sortsOf(range, type, input)) : { isBelow: no, isAbove: no },
  };
}

/** The values of a term of a key condition, which have the type of the key. */
function textsOf({ values }: Term, type: "S" | "N", given: Placeholders): string[] {
  return values.map((name) => {
    const value = given.ExpressionAttributeValues?.[name] as Item[string] | undefined;
    const text = value?.[type];
    if (text === undefined || text === "") throw invalid(`${name} has not the type of the key`);
    return text;
  });
}

const sortsOf = (term: Term, type: "S" | "N", given: Placeholders): Sort[] =>
  textsOf(term, type, given).map((text) => (type === "N" ? Number(text) : orderOf(text)));

function rangeOf({ op }: Term, [first = "", second = ""]: readonly Sort[]): Range {
  const below = (sort: Sort) => sort < first;
  const above = (sort: Sort) => sort > first;
  switch (op) {
    case "=":
      return { isBelow: below, isAbove: above };
    case "<":
      return { isBelow: no, isAbove: (sort) => sort >= first };
    case "<=":
      return { isBelow: no, isAbove: above };
    case ">":
      return { isBelow: (sort) => sort <= first, isAbove: no };
    case ">=":
      return { isBelow: below, isAbove: no };
    case "BETWEEN":
      if (first > second) throw invalid("the range ends before it starts");
      return { isBelow: below, isAbove: (sort) => sort > second };
    case "begins_with":
      return {
        isBelow: below,
        isAbove: (sort) => sort > first && !String(sort).startsWith(String(first)),
      };
    default:
      throw new UnsupportedRequest(`the key condition ${op}`);
  }
}
