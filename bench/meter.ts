/**
 * Meters captured requests by the capacity model. It keeps an image of the tables, because the cost
 * of a write depends on the item before it: it has to get every write since the tables' creation.
 */
import { itemSize, total } from "../src/platform/dynamodb/sdk/item-size.ts";
import type { CapturedRequest } from "../tools/dynamo-proxy/proxy.ts";
import {
  type Consistency,
  type Item,
  indexWriteUnits,
  itemWriteUnits,
  readUnits,
  type TableModel,
} from "./capacity.ts";

/** Capacity units. */
export interface Usage {
  readonly reads: number;
  readonly writes: number;
}

export interface Meter {
  /** Returns the cost of one request. */
  add(captured: CapturedRequest): Usage;
  /** Returns the cost of several requests together. */
  addAll(captured: readonly CapturedRequest[]): Usage;
}

interface Put {
  readonly TableName: string;
  readonly Item: Item;
}

interface Keyed {
  readonly TableName: string;
  readonly Key: Item;
}

interface Transaction {
  readonly ClientRequestToken?: string;
  readonly TransactItems: readonly {
    readonly Put?: Put;
    readonly Delete?: Keyed;
    readonly ConditionCheck?: Keyed;
    readonly Get?: Keyed;
  }[];
}

/** One item of a write, before and after it. */
interface Change {
  readonly table: TableModel;
  readonly name: string;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

const nothing: Usage = { reads: 0, writes: 0 };

/** The errors of requests that were refused before an item was read; these cost nothing. */
const unbilled = /Throttl|ProvisionedThroughput|InProgress|Validation|RequestLimit/;

/** The items of all tables after the writes so far. */
function createImage(models: readonly TableModel[]) {
  const tables = new Map(models.map((model) => [model.name, model]));
  const image = new Map<string, Item>();
  const nameIn = (table: TableModel, item: Item): string =>
    JSON.stringify([table.name, ...table.key.map((attribute) => item[attribute])]);

  /** The change of an item by an action; a condition check changes nothing. */
  function change(put: Put | undefined, keyed?: Keyed, keeps = false): Change {
    const given = put ?? keyed;
    if (!given) throw new Error("this action is not modelled");
    const table = tables.get(given.TableName);
    if (!table) throw new Error(`the meter knows no table ${given.TableName}`);
    const name = nameIn(table, put?.Item ?? keyed?.Key ?? {});
    const before = image.get(name);
    return { table, name, before, after: keeps ? before : put?.Item };
  }

  return {
    change,
    /** The item of which an answer shows only the key. */
    whole(TableName: string, Key: Item): Item {
      const { before } = change(undefined, { TableName, Key }, true);
      if (!before) throw new Error("the meter has not seen the write of an item");
      return before;
    },
    apply({ name, after }: Change): void {
      if (after) image.set(name, after);
      else image.delete(name);
    },
  };
}

export function createMeter(models: readonly TableModel[]): Meter {
  const image = createImage(models);
  const committed = new Set<string>();

  /** A transaction doubles the units of the table, but not those of an index. */
  function write(changes: readonly Change[], factor: number, done: boolean): Usage {
    const inTable = total(changes, ({ before, after }) => factor * itemWriteUnits(before, after));
    if (!done) return { reads: 0, writes: inTable };
    const inIndexes = total(changes, ({ table, before, after }) =>
      total(table.indexes, (index) => indexWriteUnits(table, index, before, after)),
    );
    for (const each of changes) image.apply(each);
    return { reads: 0, writes: inTable + inIndexes };
  }

  function transact({ request, status, response }: CapturedRequest): Usage {
    const { TransactItems, ClientRequestToken: token } = request as Transaction;
    const done = status === 200;
    if (!done && unbilled.test(typeOf(response))) return nothing;
    const changes = TransactItems.map(({ Put, Delete, ConditionCheck }) =>
      ConditionCheck ? image.change(undefined, ConditionCheck, true) : image.change(Put, Delete),
    );
    // A transaction that is sent again under its token is billed as a read of its items.
    if (done && token !== undefined && committed.has(token)) {
      const size = ({ after }: Change) => (after ? itemSize(after) : 0);
      return { reads: total(changes, (one) => readUnits(size(one), "transactional")), writes: 0 };
    }
    if (done && token !== undefined) committed.add(token);
    return write(changes, 2, done);
  }

  /** The cost of a read that was rejected because of a transaction in flight: it counts in full. */
  function refused({ request, response }: CapturedRequest): Usage {
    if (unbilled.test(typeOf(response))) return nothing;
    const { TransactItems } = request as Transaction;
    const size = (before: Item | undefined) => (before ? itemSize(before) : 0);
    const reads = total(TransactItems, ({ Get }) =>
      readUnits(size(image.change(undefined, Get, true).before), "transactional"),
    );
    return { reads, writes: 0 };
  }

  const sizes = createSizes();

  function add(captured: CapturedRequest): Usage {
    const { operation, request, status } = captured;
    const done = status === 200;
    switch (operation) {
      case "TransactWriteItems":
        return transact(captured);
      case "BatchWriteItem":
        return write(batchChanges(request as BatchWrite, image.change), 1, done);
      case "PutItem":
        return write([image.change(request as Put)], 1, done);
      case "DeleteItem":
        return write([image.change(undefined, request as Keyed)], 1, done);
      case "TransactGetItems":
        return done
          ? { reads: readsOf(captured, image.whole, sizes.meanOf), writes: 0 }
          : refused(captured);
      case "GetItem":
      case "BatchGetItem":
      case "Query":
      case "Scan":
        return done ? { reads: readsOf(captured, image.whole, sizes.meanOf), writes: 0 } : nothing;
      case "DescribeTable":
      case "CreateTable":
        return nothing;
      default:
        throw new Error(`${operation} is not modelled`);
    }
  }

  return {
    add,
    addAll(captured) {
      for (const each of captured) sizes.note(each);
      return captured.map(add).reduce(plus, nothing);
    },
  };
}

/** The mean size of the items of each partition that queries have answered. */
function createSizes() {
  const known = new Map<string, { bytes: number; count: number }>();
  const partitionOf = (request: unknown) => {
    const { TableName, ExpressionAttributeValues } = request as {
      TableName: string;
      ExpressionAttributeValues?: Item;
    };
    return `${TableName} ${ExpressionAttributeValues?.[":p"]?.S}`;
  };
  return {
    note({ operation, request, response }: CapturedRequest): void {
      const { Items: items = [] } = response as { Items?: Item[] };
      if (operation !== "Query" || items.length === 0) return;
      const before = known.get(partitionOf(request)) ?? { bytes: 0, count: 0 };
      const bytes = before.bytes + total(items, itemSize);
      known.set(partitionOf(request), { bytes, count: before.count + items.length });
    },
    meanOf(request: unknown): number {
      const { bytes, count } = known.get(partitionOf(request)) ?? { bytes: 0, count: 0 };
      if (count === 0) throw new Error("a count of items of unknown sizes is not modelled");
      return bytes / count;
    },
  };
}

interface BatchWrite {
  readonly RequestItems: Readonly<
    Record<string, readonly { PutRequest?: { Item: Item }; DeleteRequest?: { Key: Item } }[]>
  >;
}

function batchChanges(
  { RequestItems }: BatchWrite,
  change: (put?: Put, keyed?: Keyed) => Change,
): Change[] {
  return Object.entries(RequestItems).flatMap(([TableName, requests]) =>
    requests.map(({ PutRequest, DeleteRequest }) =>
      change(
        PutRequest && { TableName, ...PutRequest },
        DeleteRequest && { TableName, ...DeleteRequest },
      ),
    ),
  );
}

const plus = (a: Usage, b: Usage): Usage => ({
  reads: a.reads + b.reads,
  writes: a.writes + b.writes,
});

const typeOf = (response: unknown): string =>
  String((response as { __type?: string }).__type ?? "");

/**
 * A query or scan is one read of all items that it scans; other requests are a read per item. A
 * count answers no items: they are taken to be as large as others of their partition.
 */
function readsOf(
  { operation, request, response }: CapturedRequest,
  wholeOf: (table: string, key: Item) => Item,
  meanOf: (request: unknown) => number,
): number {
  const input = request as {
    TableName: string;
    ConsistentRead?: boolean;
    ProjectionExpression?: string;
    Select?: string;
  };
  const consistency: Consistency = input.ConsistentRead ? "strong" : "eventual";
  if (operation === "GetItem") {
    if ("ProjectionExpression" in input) throw new Error("a projected read is not modelled");
    const { Item: item } = response as { Item?: Item };
    return readUnits(item ? itemSize(item) : 0, consistency);
  }
  if (operation === "BatchGetItem") return batchReads(request, response);
  if (operation === "TransactGetItems") {
    const { Responses } = response as { Responses: { Item?: Item }[] };
    return total(Responses, ({ Item: item }) =>
      readUnits(item ? itemSize(item) : 0, "transactional"),
    );
  }
  const { Items: items = [], ScannedCount } = response as { Items?: Item[]; ScannedCount?: number };
  if (input.Select === "COUNT") {
    return readUnits(Math.ceil((ScannedCount ?? 0) * meanOf(request)), consistency);
  }
  const isFiltered = "FilterExpression" in input && ScannedCount !== items.length;
  const projected = input.ProjectionExpression;
  if (isFiltered || (projected !== undefined && projected !== "pk, sk")) {
    throw new Error("an answer that leaves out what was read is not modelled");
  }
  // A projection makes the answer smaller, but not the read.
  const read = projected === undefined ? items : items.map((key) => wholeOf(input.TableName, key));
  return readUnits(total(read, itemSize), consistency);
}

function batchReads(request: unknown, response: unknown): number {
  type Requested = Record<string, { Keys: Item[]; ConsistentRead?: boolean }>;
  const { RequestItems } = request as { RequestItems: Requested };
  const { Responses } = response as { Responses: Record<string, Item[]> };
  return total(Object.entries(RequestItems), ([table, { Keys, ConsistentRead }]) => {
    const consistency: Consistency = ConsistentRead ? "strong" : "eventual";
    const found = Responses[table] ?? [];
    const missing = Keys.length - found.length;
    return (
      total(found, (item) => readUnits(itemSize(item), consistency)) +
      missing * readUnits(0, consistency)
    );
  });
}
