/** Tests the records of changed items on every kind of stored item, and on damaged ones. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type StreamedTable, streamedTables } from "../../src/events/ports/changes.ts";
import type { Item } from "../../src/platform/dynamodb/sdk/attributes.ts";
import { entryRef } from "../../src/points/ports/records.ts";
import { noTotals } from "../../src/points/rules/ledger.ts";
import { withoutSnapshot } from "../../src/points/store/codecs/points.ts";
import { codecOf } from "../../src/store/codecs.ts";
import { itemOf } from "../../src/store/item-store.ts";
import { decodeChange } from "../../src/store/stream-records.ts";
import { entry } from "../support/fixtures/stored-points.ts";
import { previousFiles } from "../support/previous/files.ts";
import { parseItems } from "../support/previous/parse-items.ts";
import { storeAll } from "../support/stored-items/all.ts";
import { createRecorder } from "../support/stored-items/recorder.ts";
import { write } from "../support/stores/records.ts";

const kinds = new Set([
  ...["program", "entry", "reservation", "hold", "bulkGrant", "target"],
  ...["unreadGroup", "readGroup"],
]);

const recorder = createRecorder();
await storeAll(recorder);
const stored = recorder.stored.filter(
  ({ op, table }) => op === "put" && streamedTables.includes(table as StreamedTable),
);

const keysOf = ({ pk, sk }: Item): Item => ({ ...(pk && { pk }), ...(sk && { sk }) });

const decode = (table: string, after: Item, before?: Item) =>
  decodeChange(table as StreamedTable, { keys: keysOf(after), before, after });

test("each item of the kinds that have events is decoded, and all others are left out", () => {
  const found = new Set<string>();
  for (const { kind, table, item, step } of stored) {
    const { before, after, unreadable } = decode(table, item);
    expect({ unreadable, before }, step).toEqual({ unreadable: undefined, before: [] });
    expect(after.length > 0, `${step}: ${kind}`).toBe(kinds.has(kind));
    for (const { kind: of, id, version } of after) {
      found.add(of);
      expect(of, step).toBe(kind);
      expect(version, step).toBe(Number(item.v?.N));
      if (of !== "entry") expect(codecOf(of).key(id), step).toEqual(keysOf(item));
    }
    if (kind === "rows" || after.length !== 1) continue;
    expect(after[0]?.value, step).toEqual(codecOf(kind).decode(item));
  }
  expect(found).toEqual(kinds);
});

test("each item of the previous version is decoded", () => {
  const text = previousFiles().files.get("test/platform/dynamodb/stored-items.txt");
  const items = parseItems(String(text)).filter(
    ({ op, table }) => op === "put" && streamedTables.includes(table as StreamedTable),
  );
  expect(items.length).toBeGreaterThan(50);
  for (const { table, item, step } of items) {
    expect(decode(table, item).unreadable, step).toBeUndefined();
  }
});

test("all entries of an item are its records, also where a repair removes a snapshot", () => {
  const snapshot = { totals: noTotals, months: [] };
  const entries = [31, 32, 33].map((number) =>
    entry(number, number === 33 ? { snapshot } : undefined),
  );
  const item = itemOf(entries.map((each) => write(entryRef("p", "u", each.number), each)));
  const last = item.l?.L?.at(-1)?.M ?? {};
  const list = [...(item.l?.L ?? []).slice(0, -1), { M: withoutSnapshot(last) }];
  const { before, after } = decode("points", { ...item, l: { L: list } }, item);
  const names = [31, 32, 33].map((number) => entryRef("p", "u", number).id);
  expect(before.map(({ id }) => id)).toEqual(names);
  expect(after.map(({ id }) => id)).toEqual(names);
  expect(before.map(({ value }) => value)).toEqual(entries);
});

test("an item without an attribute that its kind always has is not readable", () => {
  const damaged = [
    ["entry", "p"],
    ["entry", "v"],
    ["program", "z"],
    ["reservation", "s"],
    ["hold", "u"],
    ["bulkGrant", "r"],
    ["target", "ip"],
    ["unreadGroup", "g"],
    ["readGroup", "d"],
  ] as const;
  for (const [kind, attribute] of damaged) {
    const { table = "points", item = {} } = stored.find((each) => each.kind === kind) ?? {};
    const { [attribute]: _, ...rest } = item;
    const unreadable = [item.pk?.S, item.sk?.S].filter((part) => part !== undefined).join(" ");
    const nothing = { before: [], after: [], unreadable };
    expect(decode(table, rest, item), kind).toEqual(nothing);
    expect(decode(table, item, rest), kind).toEqual(nothing);
  }
});

test("no item makes it throw", () => {
  const value = fc.oneof(
    fc.string().map((S) => ({ S })),
    fc.integer().map((N) => ({ N: String(N) })),
    fc.constantFrom({ L: [] }, { L: [{ M: {} }] }, { M: {} }, { BOOL: true }),
  );
  const name = fc.constantFrom("v", "l", "y", "e", "t", "p", "b", "w", "u", "g", "s", "c", "d");
  const key = fc
    .tuple(fc.constantFrom("P", "A#", "L#", "H#", "G#", "T#", "I#", "U#", ""), fc.string())
    .map(([head, rest]) => ({ S: `${head}${rest}` }));
  const item = fc
    .tuple(key, key, fc.dictionary(name, value, { noNullPrototype: true }))
    .map(([pk, sk, rest]): Item => ({ ...rest, pk, sk }) as Item);
  const table = fc.constantFrom(...streamedTables);
  fc.assert(
    fc.property(table, item, item, (of, before, after) => void decode(of, after, before)),
    { numRuns: 500 },
  );
});
