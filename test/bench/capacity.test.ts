/**
 * Holds the capacity model of the benchmarks to the examples and figures that AWS has published
 * (Amazon DynamoDB developer guide; the pages are named below), and the meter that applies it.
 */
import { describe, expect, test } from "vitest";
import {
  type Item,
  indexWriteUnits,
  itemWriteUnits,
  readUnits,
  type TableModel,
  tableModel,
  writeUnits,
} from "../../bench/capacity.ts";
import { createMeter } from "../../bench/meter.ts";
import { tableDefinitions } from "../../src/ops/tables/definitions.ts";
import { itemSize } from "../../src/platform/dynamodb/sdk/item-size.ts";
import { tableName } from "../../src/platform/dynamodb/tables.ts";
import type { CapturedRequest } from "../../tools/dynamo-proxy/proxy.ts";

const kb = 1_024;

/** An item of exactly this many bytes, `pk` and `sk` included. */
function itemOf(bytes: number, name = "p"): Item {
  const item = { pk: { S: name }, sk: { S: "s" }, x: { S: "" } };
  return { ...item, x: { S: "x".repeat(bytes - itemSize(item)) } };
}

describe("item sizes (developer guide: item sizes and formats)", () => {
  test("names count: the shirt of the quotas page takes 23 bytes", () => {
    expect(itemSize({ "shirt-color": { S: "R" }, "shirt-size": { S: "M" } })).toBe(23);
  });

  test.each([
    ["", { S: "" }, 0],
    ["UTF-8 bytes", { S: "巡り" }, 6],
    ["one digit", { N: "7" }, 2],
    ["two digits", { N: "42" }, 2],
    ["three digits", { N: "123" }, 3],
    ["38 digits", { N: "9".repeat(38) }, 20],
    ["zeros in front and behind are trimmed", { N: "001200000" }, 2],
    ["zeros of a fraction are trimmed", { N: "0.0012" }, 2],
    ["an exponent is none", { N: "12e20" }, 2],
    ["a minus sign", { N: "-42" }, 3],
    ["zero", { N: "0" }, 1],
    ["raw bytes of a binary", { B: new Uint8Array(5) }, 5],
    ["a boolean", { BOOL: true }, 1],
    ["null", { NULL: true as const }, 1],
    ["an empty list", { L: [] }, 3],
    ["an empty map", { M: {} }, 3],
    ["a list: 3, and 1 for each element", { L: [{ N: "1" }, { S: "ab" }] }, 3 + 3 + 3],
    ["a map: 3, and 1 for each element", { M: { a: { N: "1" }, bc: { S: "d" } } }, 3 + 4 + 4],
    ["sets", { SS: ["a", "bc"] }, 3],
    ["sets of numbers", { NS: ["1", "123"] }, 5],
  ])("%s", (_, value, bytes) => {
    expect(itemSize({ n: value })).toBe(1 + bytes);
  });
});

describe("reads (developer guide: read and write operations)", () => {
  test("8 KB: 2 strongly consistent, 1 eventually, 4 in a transaction", () => {
    expect(readUnits(8 * kb, "strong")).toBe(2);
    expect(readUnits(8 * kb, "eventual")).toBe(1);
    expect(readUnits(8 * kb, "transactional")).toBe(4);
  });

  test("3,500 bytes read as 4 KB, 10 KB as 12 KB", () => {
    expect(readUnits(3_500, "strong")).toBe(1);
    expect(readUnits(10 * kb, "strong")).toBe(3);
  });

  test("what does not exist costs 1, or 0.5", () => {
    expect(readUnits(0, "strong")).toBe(1);
    expect(readUnits(0, "eventual")).toBe(0.5);
  });

  test("80 KB eventually consistent: 10", () => {
    expect(readUnits(80 * kb, "eventual")).toBe(10);
  });
});

describe("writes (developer guide: read and write operations)", () => {
  test("500 bytes write as 1 KB, 1.6 KB as 2 KB", () => {
    expect(writeUnits(500)).toBe(1);
    expect(writeUnits(1.6 * kb)).toBe(2);
  });

  test("exactly 1 KB is one, a byte more two", () => {
    expect(writeUnits(kb)).toBe(1);
    expect(writeUnits(kb + 1)).toBe(2);
  });

  test("of a replaced item the larger one counts, of a deleted one the old", () => {
    expect(itemWriteUnits(itemOf(3 * kb), itemOf(100))).toBe(3);
    expect(itemWriteUnits(itemOf(100), itemOf(3 * kb))).toBe(3);
    expect(itemWriteUnits(itemOf(3 * kb), undefined)).toBe(3);
  });
});

describe("indexes (developer guide: global secondary indexes)", () => {
  const index = { name: "i", key: ["h", "r"], projected: ["a"] };
  const table: TableModel = { name: "t", key: ["pk"], indexes: [index] };
  const item: Item = { pk: { S: "p" }, h: { S: "A" }, r: { N: "1" }, a: { S: "x" }, b: { S: "y" } };
  const without: Item = { pk: { S: "p" }, h: { S: "A" }, a: { S: "x" } };
  const units = (before: Item | undefined, after: Item | undefined) =>
    indexWriteUnits(table, index, before, after);

  test("a new item with the indexed attributes: one write", () => {
    expect(units(undefined, item)).toBe(1);
    expect(units(without, item)).toBe(1);
  });

  test("an indexed key attribute changes from A to B: two, delete and put", () => {
    expect(units(item, { ...item, h: { S: "B" } })).toBe(2);
    expect(units(item, { ...item, r: { N: "2" } })).toBe(2);
  });

  test("the indexed attribute was there and is deleted: one", () => {
    expect(units(item, without)).toBe(1);
    expect(units(item, undefined)).toBe(1);
  });

  test("not in the index before or after: none", () => {
    expect(units(without, { ...without, a: { S: "z" } })).toBe(0);
    expect(units(undefined, without)).toBe(0);
  });

  test("a projected attribute changes: one; one that is not projected: none", () => {
    expect(units(item, { ...item, a: { S: "z" } })).toBe(1);
    expect(units(item, { ...item, b: { S: "z" } })).toBe(0);
    expect(units(item, { ...item })).toBe(0);
  });

  test("only what is projected has a size", () => {
    expect(units(undefined, { ...item, b: { S: "y".repeat(5 * kb) } })).toBe(1);
    expect(units(undefined, { ...item, a: { S: "x".repeat(kb) } })).toBe(2);
  });
});

describe("the meter", () => {
  const model: TableModel = { name: "t", key: ["pk", "sk"], indexes: [] };
  const ok = (operation: string, request: object, response: object = {}): CapturedRequest => ({
    operation,
    request,
    response,
    status: 200,
    forwarded: true,
  });
  const put = (item: Item) => ({ Put: { TableName: "t", Item: item } });
  const transaction = (items: readonly Item[], token?: string) =>
    ok("TransactWriteItems", { TransactItems: items.map(put), ClientRequestToken: token });
  const cancelled = (request: CapturedRequest, type: string): CapturedRequest => ({
    ...request,
    status: 400,
    response: { __type: type },
  });

  test("a transaction that writes three 500-byte items: 6 (transactions: how it works)", () => {
    const items = ["a", "b", "c"].map((name) => itemOf(500, name));
    expect(createMeter([model]).add(transaction(items))).toEqual({ reads: 0, writes: 6 });
  });

  test("a transaction that reads three 500-byte items: 6, missing ones counted", () => {
    const Responses = [{ Item: itemOf(500) }, { Item: itemOf(500) }, {}];
    const captured = ok("TransactGetItems", { TransactItems: [] }, { Responses });
    expect(createMeter([model]).add(captured)).toEqual({ reads: 6, writes: 0 });
  });

  test("a batch write of 500 bytes and 3.5 KB: 5 (read and write operations)", () => {
    const RequestItems = {
      t: [itemOf(500, "a"), itemOf(3.5 * kb, "b")].map((Item) => ({ PutRequest: { Item } })),
    };
    const captured = ok("BatchWriteItem", { RequestItems });
    expect(createMeter([model]).add(captured)).toEqual({ reads: 0, writes: 5 });
  });

  test("a batch read of 1.5 KB and 6.5 KB: 12 KB, not 8 (read and write operations)", () => {
    const Keys = [{ pk: { S: "a" } }, { pk: { S: "b" } }];
    const Responses = { t: [itemOf(1.5 * kb, "a"), itemOf(6.5 * kb, "b")] };
    const strong = { RequestItems: { t: { Keys, ConsistentRead: true } } };
    const captured = ok("BatchGetItem", strong, { Responses });
    expect(createMeter([model]).add(captured)).toEqual({ reads: 3, writes: 0 });
  });

  test("a query adds up before it rounds: 1,500 items of 64 bytes are 96 KB", () => {
    const Items = Array.from({ length: 1_500 }, () => itemOf(64));
    const captured = ok("Query", { TableName: "t", ConsistentRead: true }, { Items });
    expect(createMeter([model]).add(captured)).toEqual({ reads: 24, writes: 0 });
  });

  test("10 items of 40.8 KB together read as 44 KB", () => {
    const Items = Array.from({ length: 10 }, () => itemOf(4.08 * kb));
    const captured = ok("Query", { TableName: "t" }, { Items });
    expect(createMeter([model]).add(captured)).toEqual({ reads: 5.5, writes: 0 });
  });

  test("a write that failed its condition is billed, by the larger item", () => {
    const meter = createMeter([model]);
    meter.add(ok("PutItem", { TableName: "t", Item: itemOf(3 * kb) }));
    const failed = cancelled(
      ok("PutItem", { TableName: "t", Item: itemOf(100) }),
      "ConditionalCheckFailedException",
    );
    expect(meter.add(failed)).toEqual({ reads: 0, writes: 3 });
  });

  test("a cancelled transaction is billed as if it had been done, and changes nothing", () => {
    const meter = createMeter([model]);
    const big = transaction([itemOf(3 * kb)]);
    expect(meter.add(cancelled(big, "TransactionCanceledException")).writes).toBe(6);
    expect(meter.add(transaction([itemOf(100)])).writes).toBe(2);
  });

  test("a read that was cancelled is billed as if it had been answered", () => {
    const meter = createMeter([model]);
    meter.add(transaction([itemOf(5 * kb)]));
    const Get = { TableName: "t", Key: { pk: { S: "p" }, sk: { S: "s" } } };
    const read = ok("TransactGetItems", { TransactItems: [{ Get }] });
    expect(meter.add(cancelled(read, "TransactionCanceledException"))).toEqual({
      reads: 4,
      writes: 0,
    });
  });

  test("a request that was throttled is not billed", () => {
    const throttled = cancelled(transaction([itemOf(100)]), "ThrottlingException");
    expect(createMeter([model]).add(throttled)).toEqual({ reads: 0, writes: 0 });
  });

  test("sent again with its token it is a read: 1.5 KB are 4 write, then 2 read units", () => {
    const meter = createMeter([model]);
    const sent = transaction([itemOf(1.5 * kb)], "token");
    expect(meter.add(sent)).toEqual({ reads: 0, writes: 4 });
    expect(meter.add(sent)).toEqual({ reads: 2, writes: 0 });
  });

  test("a condition check costs 2, and a deleted 3 KB item 6", () => {
    const meter = createMeter([model]);
    meter.add(transaction([itemOf(100, "a"), itemOf(3 * kb, "b")]));
    const key = (name: string) => ({ pk: { S: name }, sk: { S: "s" } });
    const check = { ConditionCheck: { TableName: "t", Key: key("a") } };
    const remove = { Delete: { TableName: "t", Key: key("b") } };
    expect(meter.add(ok("TransactWriteItems", { TransactItems: [check] })).writes).toBe(2);
    expect(meter.add(ok("TransactWriteItems", { TransactItems: [remove] })).writes).toBe(6);
  });

  test("the table doubles inside a transaction, an index does not: 7 on a first grant", () => {
    const meter = createMeter(tableDefinitions(tableName("")).map(tableModel));
    const items: Item[] = [
      { pk: { S: "A#p#u" }, sk: { S: "A" }, xp: { S: "p#1" }, xm: { N: "24322" }, v: { N: "1" } },
      { pk: { S: "A#p#u" }, sk: { S: "L#000000000001" } },
      { pk: { S: "K#p#u#c:1" }, sk: { S: "K" } },
    ];
    const TransactItems = items.map((Item) => {
      const TableName = Item.sk?.S === "A" ? "accounts" : "points";
      return { Put: { TableName, Item } };
    });
    expect(meter.add(ok("TransactWriteItems", { TransactItems })).writes).toBe(7);
    const again = TransactItems.map(({ Put: { TableName, Item } }) => ({
      Put: { TableName, Item: { ...Item, v: { N: "2" } } },
    }));
    expect(meter.add(ok("TransactWriteItems", { TransactItems: again })).writes).toBe(6);
  });

  // Developer guide, local secondary indexes, "write operations": a write of its own for each index
  // whose keys or projected attributes change, two when the index key does.
  test("a local index costs like a global one: a like, an unlike, a group that moves up", () => {
    const meter = createMeter(tableDefinitions(tableName("")).map(tableModel));
    const pk = { S: "R#post#1#like#0" };
    const row: Item = { pk, sk: { S: "ann" }, a: { S: "Ann" }, n: { N: "7" }, t: { N: "9" } };
    const target: Item = { pk: { S: "T#post#1" }, sk: { S: "T" }, c: { N: "9" }, v: { N: "1" } };
    const inbox: Item = { pk: { S: "I#bob" }, sk: { S: "I" }, n: { N: "7" }, v: { N: "1" } };
    const group: Item = { pk: { S: "I#bob" }, sk: { S: "U#like#post#1" }, l: { N: "7" } };
    const units = (...TransactItems: object[]) =>
      meter.add(ok("TransactWriteItems", { TransactItems })).writes;
    const putIn = (TableName: string, Item: Item) => ({ Put: { TableName, Item } });
    // Twice in the table, then by-n and by-person for the row, by-last for the group.
    expect(units(putIn("reactions", target))).toBe(2);
    expect(units(putIn("notifications", inbox))).toBe(2);
    expect(units(putIn("reactions", row))).toBe(2 + 2);
    expect(units(putIn("notifications", group))).toBe(2 + 1);
    expect(units(putIn("notifications", { ...group, p: { N: "2" } }))).toBe(2 + 1);
    expect(units(putIn("notifications", { ...group, l: { N: "8" } }))).toBe(2 + 2);
    const Key = { pk, sk: { S: "ann" } };
    expect(units({ Delete: { TableName: "reactions", Key } })).toBe(2 + 2);
  });

  test("a bulk grant is in two indexes; a block is one put, and read whole to be deleted", () => {
    const meter = createMeter(tableDefinitions(tableName("")).map(tableModel));
    const TableName = "bulk";
    const bulkGrant = (state: string): Item => ({
      pk: { S: "G#p#1" },
      sk: { S: "G" },
      ip: { S: "p" },
      is: { S: `p#${state}` },
      ix: { S: "000001790000000#1" },
      h: { S: "h".repeat(2_500) },
    });
    const put = (Item: Item) => {
      const TransactItems = [{ Put: { TableName, Item } }];
      return meter.add(ok("TransactWriteItems", { TransactItems })).writes;
    };
    // 3 KB twice in the table and once in each index; a new state moves it in one of the two.
    expect(put(bulkGrant("RUNNING"))).toBe(2 * 3 + 3 + 3);
    expect(put(bulkGrant("DONE"))).toBe(2 * 3 + 3 + 2 * 3);
    const Key = { pk: { S: "U#1" }, sk: { S: "R#000000" } };
    const block: Item = { ...Key, t: { S: "r".repeat(10_000) } };
    expect(meter.add(ok("PutItem", { TableName, Item: block })).writes).toBe(10);
    const keys = { TableName, ConsistentRead: true, ProjectionExpression: "pk, sk" };
    expect(meter.add(ok("Query", keys, { Items: [Key] })).reads).toBe(3);
    const RequestItems = { [TableName]: [{ DeleteRequest: { Key } }] };
    expect(meter.add(ok("BatchWriteItem", { RequestItems })).writes).toBe(10);
  });

  test("a query whose filter drops no item costs as much as without one", () => {
    const query = { TableName: "t", ConsistentRead: true, FilterExpression: "a = b" };
    const captured = ok("Query", query, { Items: [itemOf(64)], ScannedCount: 1 });
    expect(createMeter([model]).add(captured)).toEqual({ reads: 1, writes: 0 });
  });

  test("a query for keys reads whole items: 2 of 3 KB are 2 units", () => {
    const meter = createMeter([model]);
    const query = { TableName: "t", ConsistentRead: true, ProjectionExpression: "pk, sk" };
    const keys = ["a", "b"].map((name) => ({ pk: { S: name }, sk: { S: "s" } }));
    const captured = ok("Query", query, { Items: keys });
    expect(() => meter.add(captured)).toThrow("has not seen");
    meter.add(transaction([itemOf(3 * kb, "a"), itemOf(3 * kb, "b")]));
    expect(meter.add(captured)).toEqual({ reads: 2, writes: 0 });
    const other = ok("Query", { ...query, ProjectionExpression: "pk, a" }, { Items: keys });
    expect(() => meter.add(other)).toThrow("not modelled");
  });

  test("refuses a filter that drops items and an update, which it cannot model", () => {
    const meter = createMeter([model]);
    expect(() => meter.add(ok("Query", { FilterExpression: "a = b" }))).toThrow("not modelled");
    expect(() => meter.add(ok("UpdateItem", {}))).toThrow("not modelled");
  });
});
