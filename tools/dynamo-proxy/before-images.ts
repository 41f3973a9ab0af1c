/**
 * Serves plain reads while transactions are applied item by item: rewrites the store's answers so
 * that they have each hidden item as it was before its transaction.
 */
import {
  type Condition,
  compareValues,
  conditionOf,
  type Placeholders,
  placeholdersIn,
  projectionOf,
} from "./expressions.ts";
import type { BeforeImage, ItemLocks } from "./locks.ts";
import {
  type AttributeMap,
  type IndexSchema,
  type ItemRequest,
  itemKey,
  type Outcome,
  parse,
  type TableSchema,
  UnsupportedRequest,
  type Upstream,
  type WireRequest,
  withContent,
} from "./wire.ts";

/** The hidden items of a table, by key. */
type Hidden = ReadonlyMap<string, BeforeImage>;

/** How a read is sent to the store, and what its answer becomes. */
type PlainRead = {
  readonly body: Buffer;
  rewrite(content: AttributeMap, hidden: ItemLocks["hidden"]): AttributeMap;
};

type ReadContext = {
  readonly upstream: Upstream;
  readonly locks: ItemLocks;
  readonly forward: (req: WireRequest) => Promise<Outcome>;
};

/** Forwards a plain read and replaces the items that are hidden when its answer arrives. */
export async function readAround(req: WireRequest, context: ReadContext): Promise<Outcome> {
  const { body, rewrite } = await planRead(req, context.upstream);
  const outcome = await context.forward({ ...req, body });
  if (outcome.answer.status !== 200) return outcome;
  const content = rewrite(parse(outcome.answer.body), context.locks.hidden);
  return { ...outcome, answer: withContent(outcome.answer, content) };
}

function planRead(req: WireRequest, upstream: Upstream): Promise<PlainRead> {
  switch (req.operation) {
    case "GetItem":
      return planGet(req, upstream);
    case "BatchGetItem":
      return planBatch(req, upstream);
    default:
      return planPage(req, upstream);
  }
}

/** Refuses a request with members whose meaning is not known here. */
function onlyWith(members: readonly string[], request: object): void {
  const unknown = Object.keys(request).filter((member) => !members.includes(member));
  if (unknown.length > 0) throw new UnsupportedRequest(`a read with ${unknown.join(", ")}`);
}

async function planGet(req: WireRequest, upstream: Upstream): Promise<PlainRead> {
  const request = parse<ItemRequest>(req.body);
  onlyWith(["TableName", "Key", "ConsistentRead", "ReturnConsumedCapacity"], request);
  const [key = ""] = await upstream.itemKeys([request], req.rawHeaders);
  return {
    body: req.body,
    rewrite(content, hidden) {
      const image = hidden(request.TableName).get(key);
      return image === undefined ? content : { ...content, Item: image.item };
    },
  };
}

type BatchGetRequest = {
  readonly RequestItems: Readonly<Record<string, { readonly Keys: readonly AttributeMap[] }>>;
};

async function planBatch(req: WireRequest, upstream: Upstream): Promise<PlainRead> {
  const request = parse<BatchGetRequest>(req.body);
  onlyWith(["RequestItems", "ReturnConsumedCapacity"], request);
  const tables = Object.entries(request.RequestItems);
  const wanted = new Map<string, { keys: readonly string[]; schema: TableSchema }>();
  for (const [TableName, { Keys, ...others }] of tables) {
    onlyWith(["ConsistentRead"], others);
    const requests = Keys.map((Key) => ({ TableName, Key }));
    const keys = await upstream.itemKeys(requests, req.rawHeaders);
    const schema = await upstream.schemaOf(TableName, req.rawHeaders);
    wanted.set(TableName, { keys: keys.filter((key) => key !== undefined), schema });
  }
  return {
    body: req.body,
    rewrite(content, hidden) {
      if (Object.keys(content.UnprocessedKeys ?? {}).length > 0) {
        throw new UnsupportedRequest("a BatchGetItem that the store has answered in part");
      }
      const found = content.Responses as Record<string, AttributeMap[]>;
      const Responses = Object.entries(found).map(([table, items]) => {
        const { keys = [], schema } = wanted.get(table) ?? {};
        const images = hidden(table);
        const shown = items.filter((item) => !images.has(keyOf(item, table, schema)));
        return [table, [...shown, ...keys.flatMap((key) => images.get(key)?.item ?? [])]];
      });
      return { ...content, Responses: Object.fromEntries(Responses) };
    },
  };
}

const keyOf = (Key: AttributeMap, TableName: string, schema: TableSchema | undefined): string =>
  itemKey({ TableName, Key }, schema?.keys ?? []) ?? "";

/** The body of Query and Scan. */
type PageRequest = Placeholders & {
  readonly TableName: string;
  readonly IndexName?: string;
  readonly KeyConditionExpression?: string;
  readonly FilterExpression?: string;
  readonly ProjectionExpression?: string;
  /** `COUNT`: the answer has no items. */
  readonly Select?: string;
  readonly ScanIndexForward?: boolean;
  readonly Limit?: number;
  readonly ExclusiveStartKey?: AttributeMap;
  readonly TotalSegments?: number;
};

const PAGE_MEMBERS = [
  "TableName",
  "ConsistentRead",
  "ReturnConsumedCapacity",
  "FilterExpression",
  "ProjectionExpression",
  "ExpressionAttributeNames",
  "ExpressionAttributeValues",
  "Limit",
  "ExclusiveStartKey",
];
const QUERY_MEMBERS = [
  ...PAGE_MEMBERS,
  "IndexName",
  "KeyConditionExpression",
  "ScanIndexForward",
  "Select",
];
const SCAN_MEMBERS = [...PAGE_MEMBERS, "Segment", "TotalSegments"];

/** The items that one page has read, before the filter. */
type Page = {
  readonly items: readonly AttributeMap[];
  /** The last key of the page; absent at the end of the list. */
  readonly last: AttributeMap | undefined;
};

/** Reads whole items, and filters and projects them after the hidden ones have been replaced. */
async function planPage(req: WireRequest, upstream: Upstream): Promise<PlainRead> {
  const request = parse<PageRequest>(req.body);
  const isQuery = req.operation === "Query";
  onlyWith(isQuery ? QUERY_MEMBERS : SCAN_MEMBERS, request);
  const { FilterExpression, ProjectionExpression, Select, ...rest } = request;
  const { ExpressionAttributeNames, ExpressionAttributeValues, ...bare } = rest;
  const passes = conditionOf(FilterExpression, request);
  const projected = projectionOf(ProjectionExpression, request);
  const includes = conditionOf(request.KeyConditionExpression, request);
  const schema = await upstream.schemaOf(request.TableName, req.rawHeaders);
  const placeholders = placeholdersIn(request.KeyConditionExpression, request);
  return {
    body: Buffer.from(JSON.stringify({ ...bare, ...placeholders })),
    rewrite(content, hidden) {
      const items = content.Items as AttributeMap[];
      const last = content.LastEvaluatedKey as AttributeMap | undefined;
      const images = hidden(request.TableName);
      const page = isQuery
        ? queried({ items, last }, request, schema, images, includes)
        : scanned({ items, last }, request, schema, images);
      const Items = page.items.filter(passes).map((item) => pick(item, projected));
      const counts = { Count: Items.length, ScannedCount: page.items.length };
      const found = { ...counts, LastEvaluatedKey: page.last };
      const { Items: _, ...others } = content;
      return Select === "COUNT" ? { ...others, ...found } : { ...content, Items, ...found };
    },
  };
}

/** A page of a query, with the before-images in the order of its index. */
function queried(
  { items, last }: Page,
  request: PageRequest,
  schema: TableSchema,
  hidden: Hidden,
  includes: Condition,
): Page {
  const { TableName, ScanIndexForward = true, Limit, ExclusiveStartKey: start } = request;
  const index = indexOf(request, schema);
  const names = [...new Set([...index.keys, ...schema.keys])];
  const compare = (a: AttributeMap, b: AttributeMap) => {
    const order = names.map((name) => compareValues(a[name], b[name])).find((each) => each !== 0);
    return ScanIndexForward ? (order ?? 0) : -(order ?? 0);
  };
  const isOnPage = (item: AttributeMap) =>
    (start === undefined || compare(item, start) > 0) &&
    (last === undefined || compare(item, last) <= 0);
  const shown = items.filter((item) => !hidden.has(keyOf(item, TableName, schema)));
  const images = [...hidden.values()]
    .flatMap(({ item }) => (item && index.keys.every((name) => name in item) ? [item] : []))
    .filter((item) => includes(item) && isOnPage(item))
    .map((item) => pick(item, index.projection === "ALL" ? undefined : names));
  const all = [...shown, ...images].sort(compare);
  const lastOfLimit = Limit !== undefined && all.length > Limit ? all[Limit - 1] : undefined;
  if (lastOfLimit === undefined) return { items: all, last };
  return { items: all.slice(0, Limit), last: pick(lastOfLimit, names) };
}

function indexOf({ IndexName }: PageRequest, { keys, indexes }: TableSchema): IndexSchema {
  const index = IndexName === undefined ? { keys, projection: "ALL" } : indexes.get(IndexName);
  if (index === undefined || index.projection === "INCLUDE") {
    throw new UnsupportedRequest(`a Query of the index ${IndexName}`);
  }
  return index;
}

/** A page of a scan. Its order is the store's own, so a deleted item has no place on a page. */
function scanned(
  { items, last }: Page,
  request: PageRequest,
  schema: TableSchema,
  hidden: Hidden,
): Page {
  const { TableName, TotalSegments = 1, ExclusiveStartKey: start } = request;
  const found = new Set<string>();
  const shown = items.flatMap((item): readonly AttributeMap[] => {
    const key = keyOf(item, TableName, schema);
    found.add(key);
    const image = hidden.get(key);
    const before = image === undefined ? item : image.item;
    return before === undefined ? [] : [before];
  });
  const deleted = [...hidden].flatMap(([key, { item, isDeleted }]) =>
    item !== undefined && isDeleted && !found.has(key) ? [item] : [],
  );
  const isWhole = start === undefined && last === undefined && TotalSegments === 1;
  if (deleted.length > 0 && !isWhole) {
    throw new UnsupportedRequest("a Scan by pages or segments while an item is being deleted");
  }
  return { items: [...shown, ...deleted], last };
}

function pick(item: AttributeMap, names: readonly string[] | undefined): AttributeMap {
  if (names === undefined) return item;
  return Object.fromEntries(names.flatMap((name) => (name in item ? [[name, item[name]]] : [])));
}
