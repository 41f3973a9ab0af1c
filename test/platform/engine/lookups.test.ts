/** Tests which results of lookups are used, and how long they are kept. */
import { expect, test } from "vitest";
import { inboxRef } from "../../../src/feed/ports/records.ts";
import { emptyInbox } from "../../../src/feed/rules/inbox.ts";
import { Lookups } from "../../../src/platform/engine/lookups.ts";
import { RecordCache } from "../../../src/platform/engine/record-cache.ts";
import type { Lookup, Reading } from "../../../src/platform/ports/engine.ts";
import type { Ref } from "../../../src/platform/ports/records.ts";
import { accountRef } from "../../../src/points/ports/records.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";

const source = accountRef("p", "u");
const inboxOf = (version: number) => ({ ...emptyInbox, version });
/** What a lookup has seen: the inboxes of three owners at their versions. */
const seen = [1, 2, 3].map((version) => ({
  ref: inboxRef(`o${version}`),
  value: inboxOf(version),
}));

/** A store with the three inboxes, and lookups over it. */
async function createLookups() {
  const store = createMemoryStore();
  const records = new RecordCache(store.itemStore);
  for (const { ref, value } of seen) store.force(ref, value);
  const state = { isFree: true };
  const sent: string[] = [];
  const reads: (readonly Ref[])[] = [];
  const lookups = new Lookups({
    records,
    maxItems: store.itemStore.maxItems,
    read(lookup) {
      sent.push(lookup.name);
      return lookup.read();
    },
    async readAtomically(refs) {
      reads.push(refs);
      return state.isFree && records.readAtomically(refs);
    },
  });
  return { store, lookups, state, sent, reads };
}

/** A lookup whose result is its own name, and rests on these records. */
const lookupOf = (
  name: string,
  unchanged: Reading<string>["unchanged"] = seen,
  change: Partial<Lookup<string>> = {},
): Lookup<string> => ({
  name,
  source,
  holds: () => true,
  read: async () => ({ result: name, unchanged }),
  ...change,
});
const [a, b, c] = [lookupOf("a"), lookupOf("b"), lookupOf("c")];

test("each lookup is read once, and its result is known by its name", async () => {
  const { lookups, sent } = await createLookups();
  expect(await lookups.read([a, b, a])).toBe(true);
  expect(sent).toEqual(["a", "b"]);
  expect([a, b, c].map((each) => lookups.find(each))).toEqual(["a", "b", undefined]);
  lookups.clear();
  expect(lookups.find(a)).toBeUndefined();
});

test("a result is used only as long as it holds", async () => {
  const { lookups } = await createLookups();
  await lookups.read([a]);
  const later = lookupOf("a", seen, { holds: (result) => result !== "a" });
  expect(lookups.find(later)).toBeUndefined();
  expect(lookups.find(a)).toBe("a");
});

test("lookups are read side by side", async () => {
  const { lookups } = await createLookups();
  const all = Promise.withResolvers<void>();
  let waiting = 0;
  const read = async () => {
    if (++waiting === 3) all.resolve();
    await all.promise;
    return { result: "found", unchanged: [] };
  };
  expect(await lookups.read(["a", "b", "c"].map((name) => lookupOf(name, [], { read })))).toBe(
    true,
  );
});

test("the records of all lookups are read together, each once, up to 100 at a time", async () => {
  const { store, lookups, reads } = await createLookups();
  const many = Array.from({ length: 130 }, (_, i) => ({
    ref: inboxRef(`n${i}`),
    value: inboxOf(i),
  }));
  for (const { ref, value } of many) store.force(ref, value);
  const all = [lookupOf("a", many.slice(0, 70)), lookupOf("b", many.slice(60)), c];
  expect(await lookups.read(all)).toBe(true);
  expect(reads.map(({ length }) => length)).toEqual([100, 33]);
  expect(all.map((each) => lookups.find(each))).toEqual(["a", "b", "c"]);
});

test.each<[string, Reading<string>["unchanged"]]>([
  ["that is not written yet", [...seen, { ref: inboxRef("o4"), value: inboxOf(4) }]],
  ["that has changed", seen.map(({ ref, value }) => ({ ref, value: { ...value, version: 0 } }))],
])("a result that rests on a record %s is not used, and is not read", async (_, unchanged) => {
  const { lookups } = await createLookups();
  const other = lookupOf("b");
  expect(await lookups.read([lookupOf("a", unchanged), other])).toBe(false);
  expect(lookups.find(a)).toBeUndefined();
  expect(lookups.find(other)).toBe("b");
});

test("a result that rests on a record that was deleted meanwhile is not used", async () => {
  const { store, lookups } = await createLookups();
  store.force(inboxRef("o2"), undefined);
  expect(await lookups.read([a])).toBe(false);
  expect(lookups.find(a)).toBeUndefined();
});

test("a lookup that finds a transaction in its way has no result", async () => {
  const { lookups } = await createLookups();
  const hidden = lookupOf("a", [], { read: async () => undefined });
  expect(await lookups.read([hidden, b])).toBe(false);
  expect(lookups.find(a)).toBeUndefined();
  expect(lookups.find(b)).toBe("b");
});

test("a transaction in the way of one lookup does not lose the results without it", async () => {
  const { lookups, state } = await createLookups();
  state.isFree = false;
  const exact = [lookupOf("b", []), lookupOf("c", [])];
  expect(await lookups.read([a, ...exact])).toBe(false);
  expect([a, ...exact].map((each) => lookups.find(each))).toEqual([undefined, "b", "c"]);
});

test("a busy queue forgets the results of earlier calls", async () => {
  const { lookups } = await createLookups();
  const many = Array.from({ length: 1_001 }, (_, i) => lookupOf(`${i}`, []));
  await lookups.read(many);
  expect(many.filter((each) => lookups.find(each) !== undefined)).toHaveLength(1_001);
  await lookups.read([a]);
  expect(many.filter((each) => lookups.find(each) !== undefined)).toEqual([]);
  expect(lookups.find(a)).toBe("a");
});
