/** Tests packed entries: they are found and listed like single ones, in items of up to 1 KB. */
import { randomUUID } from "node:crypto";
import { PutItemCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { readUnits } from "../../../bench/capacity.ts";
import type { Item } from "../../../src/platform/dynamodb/sdk/attributes.ts";
import { itemSize, total } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import type { PageRequest } from "../../../src/platform/ports/pages.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { accountRef, entryRef, eventRef } from "../../../src/points/ports/records.ts";
import type { EntryType, LedgerEntry } from "../../../src/points/rules/ledger.ts";
import { pack } from "../../../src/points/store/codecs/points.ts";
import { toItem } from "../../../src/store/codecs.ts";
import { itemOf } from "../../../src/store/item-store.ts";
import { allItems } from "../../support/fixtures/pages.ts";
import { bothStores } from "../../support/stores/both-stores.ts";
import { pages, rejection, write } from "../../support/stores/records.ts";

const { stores, names, client } = bothStores();
const openDynamo = stores[1][1];

const types = ["ISSUED", "USED", "EXPIRED"] as const;

const entry = (number: number, reason: string): LedgerEntry => ({
  number,
  type: types[number % 3] as EntryType,
  event: { origin: "c", eventId: `e${number}` },
  createTime: 1_790_000_000_000,
  effectiveTime: 1_790_000_000_000,
  points: number,
  changes: [{ month: 24_322, points: number }],
  frozen: false,
  availablePoints: number,
  reason,
  caller: asService("shop"),
});

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(to - from + 1, 0) }, (_, i) => from + i);

const grants = (p: string, from: number, to: number, reason = "") =>
  range(from, to).flatMap((number) => {
    const each = entry(number, reason);
    const key = { hash: "1:x", entry: each, availablePoints: number, reversedPoints: 0 };
    return [write(entryRef(p, "u", number), each), write(eventRef(p, "u", `c:e${number}`), key)];
  });

/** The read units of queries that read these items. */
const unitsOf = (requests: readonly (readonly Item[])[]): number =>
  requests
    .map((read) => readUnits(total(read, itemSize), "strong"))
    .reduce((sum, units) => sum + units, 0);

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
  test("of one transaction are packed into items of up to 1 KB", async () => {
    const p = randomUUID().slice(0, 8);
    const { store } = openDynamo();
    await store.commit(grants(p, 1, 49, "a reason"), randomUUID());
    await store.commit(grants(p, 50, 50), randomUUID());
    const found = await itemsOf(p);
    expect(found.length).toBeLessThan(12);
    for (const item of found) expect(itemSize(item)).toBeLessThanOrEqual(1_024);
    expect(found.at(-1)).toMatchObject({ sk: { S: "L#000000000050" }, p: { N: "50" } });
    expect(found.at(-1)).not.toHaveProperty("l");
  });

  test("keep their snapshots, packed or not, unless an item would exceed 1 KB", async () => {
    const p = randomUUID().slice(0, 8);
    const { store, reader, removeSnapshot } = openDynamo();
    const totals = {
      issuedPoints: 50,
      usedPoints: 0,
      expiredPoints: 0,
      refundedPoints: 0,
      revokedPoints: 0,
      heldPoints: 0,
      capturedPoints: 0,
      releasedPoints: 0,
    };
    const month = (points: number) => [{ month: 24_322, points }];
    const withSnapshot = (number: number, reason: string, months = month(50)): LedgerEntry => ({
      ...entry(number, reason),
      snapshot: { months, totals },
    });
    const writeOf = (each: LedgerEntry) => write(entryRef(p, "u", each.number), each);
    /** A reason with which the item of an entry has 1 KB. */
    const filling = (each: LedgerEntry) =>
      "r".repeat(1_024 - itemSize(itemOf([writeOf({ ...each, reason: "r" })])) + 1);
    const longest = filling(entry(4, ""));
    const entries = [
      withSnapshot(1, ""),
      withSnapshot(2, "packed", []),
      withSnapshot(3, filling(withSnapshot(3, ""))),
      withSnapshot(4, longest),
    ];
    const writes = entries.map(writeOf);
    await store.commit(writes, randomUUID());
    expect((await itemsOf(p)).map((item) => itemSize(item) <= 1_024)).toEqual([true, true, true]);
    const stored = () =>
      allItems((page) => reader.storedEntries({ programId: p, userId: "u" }, page), 10);
    expect(await stored()).toEqual([...entries.slice(0, 3), entry(4, longest)]);
    for (const number of [2, 3, 4]) await removeSnapshot({ programId: p, userId: "u" }, number);
    const without = entries.map(({ snapshot, ...each }) =>
      each.number === 1 && snapshot ? { ...each, snapshot } : each,
    );
    expect(await stored()).toEqual(without);
    await removeSnapshot({ programId: p, userId: "u" }, 1);
    expect(await stored()).toEqual(entries.map(({ snapshot: _, ...each }) => each));
  });

  test("of other accounts, with numbers apart, or with a version are not packed", () => {
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

  test("of any length fill items, and several never take more than 1 KB", () => {
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

  test("are found and listed, packed in any way", async () => {
    const { store, reader } = openDynamo();
    const batches = fc.array(fc.integer({ min: 1, max: 45 }), { minLength: 1, maxLength: 4 });
    const list = fc.record({
      from: fc.integer({ min: 1, max: 60 }),
      length: fc.integer({ min: 1, max: 200 }),
      size: fc.integer({ min: 1, max: 40 }),
      newestFirst: fc.boolean(),
      types: fc.subarray([...types]),
    });
    const lists = fc.array(list, { minLength: 6, maxLength: 6 });
    const property = fc.asyncProperty(batches, lists, async (sizes, queries) => {
      const p = randomUUID().slice(0, 8);
      let last = 0;
      for (const size of sizes) {
        const writes = grants(p, last + 1, last + size, "r".repeat(size));
        expect(await store.commit(writes, randomUUID())).toEqual({ kind: "committed" });
        last += size;
      }
      for (const number of [1, Math.ceil(last / 2), last, last + 1]) {
        const found = await reader.get(entryRef(p, "u", number));
        expect(found?.value.number).toBe(number > last ? undefined : number);
      }
      const name = { programId: p, userId: "u" };
      for (const { from, length, size, ...how } of queries) {
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

  test("cost a list no more read units than their items, packed or not", async () => {
    const { store, reader } = openDynamo();
    const [packed, single] = [randomUUID().slice(0, 8), randomUUID().slice(0, 8)];
    for (let from = 1; from <= 490; from += 49) {
      await store.commit(grants(packed, from, from + 48, "a reason"), randomUUID());
      // Entries whose numbers are apart are not packed.
      const writes = grants(single, from, from + 48, "a reason").map((each, i) => ({ each, i }));
      const entries = writes.filter(({ i }) => i % 2 === 0).map(({ each }) => each);
      const apart = entries.filter((_, i) => i % 2 === 0);
      await store.commit([...apart, ...entries.filter((_, i) => i % 2 === 1)], randomUUID());
    }
    const stored = { packed: await itemsOf(packed), single: await itemsOf(single) };
    expect(stored.single).toHaveLength(490);
    expect(stored.packed.length).toBeLessThan(490 / 6);
    const size = 50;
    for (const newestFirst of [true, false]) {
      const query = { from: 1, to: 490, newestFirst, types: [] };
      const list = async (p: string) => {
        const spy = vi.spyOn(client(), "send");
        const ask = (page: PageRequest) =>
          reader.entries({ programId: p, userId: "u" }, query, page);
        expect((await pages(ask, size)).flat()).toHaveLength(490);
        const answers = (await Promise.all(spy.mock.results.map(({ value }) => value))) as {
          Items?: Item[];
        }[];
        spy.mockRestore();
        const read = answers.map(({ Items = [] }) => Items);
        return { requests: read.length, items: read.flat().length, units: unitsOf(read) };
      };
      const ofPacked = await list(packed);
      expect(ofPacked.items).toBeLessThan(1.6 * stored.packed.length);
      expect(ofPacked.requests).toBeLessThanOrEqual(490 / size + 3);

      const ofSingle = await list(single);
      // One request a page, and one more for the first page, whose items are not known yet.
      expect(ofSingle.requests).toBeLessThanOrEqual(Math.ceil(490 / size) + 1);
      expect(ofSingle.items).toBe(490);
      const inOrder = newestFirst ? stored.single.toReversed() : stored.single;
      const cut = range(0, 9).map((page) => inOrder.slice(page * size, (page + 1) * size));
      expect(ofSingle.units).toBeLessThanOrEqual(unitsOf(cut) + 1);
    }
    // In the middle of a ledger, the first request may read only earlier items.
    const spy = vi.spyOn(client(), "send");
    const query = { from: 200, to: 490, newestFirst: false, types: [] };
    const page = { size: 37, cursor: undefined };
    const found = await reader.entries({ programId: single, userId: "u" }, query, page);
    expect(found.items.map(({ number }) => number)).toEqual(range(200, 236));
    expect(spy.mock.calls.length).toBeLessThanOrEqual(2);
    spy.mockRestore();
  });

  test("are all read once where they are stored, a second one of a number included", async () => {
    const p = randomUUID().slice(0, 8);
    const { store, reader } = openDynamo();
    await store.commit(grants(p, 1, 40), randomUUID());
    const [{ ref }] = grants(p, 3, 3) as [ReturnType<typeof write>];
    const second = toItem(ref, entry(3, "again"), 1);
    await client().send(new PutItemCommand({ TableName: names("points"), Item: second }));
    for (const size of [1, 2, 100]) {
      const list = (page: PageRequest) => reader.storedEntries({ programId: p, userId: "u" }, page);
      const found = (await allItems(list, size)).map(({ number }) => number);
      expect(found.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 3, ...range(4, 40)]);
    }
  });

  test("are not listed from a cursor that no page has returned", async () => {
    const p = randomUUID().slice(0, 8);
    const { store, reader } = openDynamo();
    await store.commit(grants(p, 1, 5), randomUUID());
    const query = { from: 2, to: 5, newestFirst: false, types: [] };
    for (const cursor of [
      "",
      "x",
      "-1",
      "1.5",
      "9",
      "1234567890123",
      "{}",
      "3",
      "3~16~1",
      "3~0~0",
      "3~1",
    ]) {
      const listing = reader.entries({ programId: p, userId: "u" }, query, { size: 2, cursor });
      expect(await rejection(listing), cursor).toMatchObject({
        reason: "INVALID_REQUEST",
        metadata: { field: "page_token" },
      });
    }
  });
});
