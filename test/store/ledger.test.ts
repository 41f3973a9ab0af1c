/** Ledger entries that share items: found, listed and sized like those that do not. */
import { randomUUID } from "node:crypto";
import { QueryCommand } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accountRef, entryRef, eventRef } from "../../src/app/ports.ts";
import type { EntryType, LedgerEntry } from "../../src/domain/ledger.ts";
import { itemSize } from "../../src/store/dynamodb/item-size.ts";
import { itemOf, pack } from "../../src/store/dynamodb/ledger.ts";
import { bothStores, pages, rejection, write } from "./stores.ts";

const { stores, names, client } = bothStores();
const openDynamo = stores[1][1];

const types = ["ISSUED", "USED", "EXPIRED"] as const;

const entry = (number: number, reason: string): LedgerEntry => ({
  number,
  type: types[number % 3] as EntryType,
  event: { origin: "c", id: `e${number}` },
  createTime: 1_790_000_000_000,
  effectiveTime: 1_790_000_000_000,
  points: number,
  changes: [{ month: 24_322, points: number }],
  frozen: false,
  balance: number,
  reason,
  caller: "shop",
});

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(to - from + 1, 0) }, (_, i) => from + i);

const grants = (p: string, from: number, to: number, reason = "") =>
  range(from, to).flatMap((number) => {
    const each = entry(number, reason);
    const key = { hash: "1:x", entry: each, balance: number, undone: 0 };
    return [write(entryRef(p, "u", number), each), write(eventRef(p, "u", `c:e${number}`), key)];
  });

/** The items of a ledger, by the number of their first entry. */
async function itemsOf(p: string) {
  const command = new QueryCommand({
    TableName: names("points"),
    KeyConditionExpression: "pk = :a AND begins_with(sk, :l)",
    ExpressionAttributeValues: { ":a": { S: `A#${p}#u` }, ":l": { S: "L#" } },
  });
  return (await client().send(command)).Items ?? [];
}

describe("entries", () => {
  test("of one transaction share items of up to 1 KB", async () => {
    const p = randomUUID().slice(0, 8);
    const { items } = openDynamo();
    await items.commit(grants(p, 1, 49, "a reason"), randomUUID());
    await items.commit(grants(p, 50, 50), randomUUID());
    const found = await itemsOf(p);
    expect(found.length).toBeLessThan(12);
    for (const item of found) expect(itemSize(item)).toBeLessThanOrEqual(1_024);
    expect(found.at(-1)).toMatchObject({ sk: { S: "L#000000000050" }, p: { N: "50" } });
    expect(found.at(-1)).not.toHaveProperty("l");
  });

  test("of other accounts, numbers apart, and versions to come do not", () => {
    const one = write(entryRef("p", "u", 1), entry(1, ""));
    const others = [
      write(entryRef("p", "v", 2), entry(2, "")),
      write(entryRef("p", "u", 3), entry(3, "")),
      write(entryRef("p", "u", 4), entry(4, ""), 1),
      write(accountRef("p", "u"), {} as never),
    ];
    for (const other of others) expect(pack([one, other])).toEqual([[one], [other]]);
    const next = write(entryRef("p", "u", 2), entry(2, ""));
    expect(pack([one, ...others, next])[0]).toEqual([one]);
    expect(pack([one, next])).toEqual([[one, next]]);
  });

  test("of any length fill items, but never above 1 KB with company", () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 });
    fc.assert(
      fc.property(lengths, fc.constantFrom("x", "ü", "語"), (all, letter) => {
        const writes = all.map((length, i) =>
          write(entryRef("p", "u", i + 1), entry(i + 1, letter.repeat(length))),
        );
        const groups = pack(writes);
        expect(groups.flat()).toEqual(writes);
        for (const [i, group] of groups.entries()) {
          if (group.length > 1) expect(itemSize(itemOf(group))).toBeLessThanOrEqual(1_024);
          const next = groups[i + 1]?.[0];
          if (!next || group.length === 16) continue;
          expect(itemSize(itemOf([...group, next]))).toBeGreaterThan(1_024);
        }
      }),
    );
  });

  test("are found and listed whatever they share", async () => {
    const { items, reader } = openDynamo();
    const batches = fc.array(fc.integer({ min: 1, max: 45 }), { minLength: 1, maxLength: 4 });
    const list = fc.record({
      from: fc.integer({ min: 1, max: 60 }),
      length: fc.integer({ min: 1, max: 200 }),
      size: fc.integer({ min: 1, max: 40 }),
      newestFirst: fc.boolean(),
      types: fc.subarray([...types]),
    });
    const lists = fc.array(list, { minLength: 6, maxLength: 6 });
    const property = fc.asyncProperty(batches, lists, async (sizes, asked) => {
      const p = randomUUID().slice(0, 8);
      let last = 0;
      for (const size of sizes) {
        const writes = grants(p, last + 1, last + size, "r".repeat(size));
        expect(await items.commit(writes, randomUUID())).toEqual({ kind: "committed" });
        last += size;
      }
      for (const number of [1, Math.ceil(last / 2), last, last + 1]) {
        const found = await reader.get(entryRef(p, "u", number));
        expect(found?.value.number).toBe(number > last ? undefined : number);
      }
      const name = { program: p, user: "u" };
      for (const { from, length, size, ...how } of asked) {
        const to = from + length - 1;
        const query = { from, to, ...how };
        const found = (await pages((page) => reader.entries(name, query, page), size)).flat();
        const wanted = range(from, Math.min(to, last))
          .map((number) => entry(number, ""))
          .filter(({ type }) => how.types.length === 0 || how.types.includes(type as "USED"));
        const numbers = wanted.map(({ number }) => number);
        expect(found.map(({ number }) => number)).toEqual(
          how.newestFirst ? numbers.reverse() : numbers,
        );
        for (const each of found) expect(each).toEqual(entry(each.number, each.reason));
      }
    });
    await fc.assert(property, { numRuns: 15 });
  });

  test("are not listed from a place that no page has told", async () => {
    const p = randomUUID().slice(0, 8);
    const { items, reader } = openDynamo();
    await items.commit(grants(p, 1, 5), randomUUID());
    const query = { from: 2, to: 5, newestFirst: false, types: [] };
    for (const cursor of ["", "x", "-1", "1.5", "9", "1234567890123", "{}"]) {
      const asked = reader.entries({ program: p, user: "u" }, query, { size: 2, cursor });
      expect(await rejection(asked), cursor).toMatchObject({
        reason: "INVALID_REQUEST",
        metadata: { field: "page_token" },
      });
    }
  });
});
