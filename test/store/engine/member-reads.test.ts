/** Tests which results of queries for members are valid, and how long they are kept. */
import { expect, test } from "vitest";
import type { MembersQuery } from "../../../src/app/ports/engine.ts";
import { type Ref, reactionRef, unreadGroupRef } from "../../../src/app/ports/records.ts";
import type { Reaction } from "../../../src/domain/target.ts";
import {
  join,
  type MemberRange,
  type Members,
  olderEnds,
  recentOf,
  splitOlderAt,
  type UnreadGroup,
} from "../../../src/domain/unread-group.ts";
import { queryName } from "../../../src/store/engine/batch.ts";
import { MemberReads } from "../../../src/store/engine/member-reads.ts";
import { RecordCache } from "../../../src/store/engine/record-cache.ts";
import { createMemoryStore } from "../../support/stores/memory-store.ts";

const kind = "like";
const now = 10_000;
const rowOf = (id: string, version: number): Reaction => ({
  target: { type: "post", id },
  kind,
  userId: `u${version}`,
  displayName: "",
  version,
  notified: true,
  createTime: version,
});
const rowRef = ({ target, userId }: Reaction) => reactionRef(target, kind, userId);
const groupRef = (id: string) => unreadGroupRef("owner", { type: "post", id }, kind);

/** Groups of three members in a store, whose records are in a cache. */
async function createGroups(...ids: readonly string[]) {
  const store = createMemoryStore();
  const records = new RecordCache(store.itemStore);
  const sent: string[] = [];
  const state = { found: undefined as Members | undefined, isFree: true };
  const reads = new MemberReads({
    records,
    maxItems: store.itemStore.maxItems,
    async query(query) {
      sent.push(queryName(query));
      return state.found ?? store.itemStore.groupMembers(query);
    },
    async readAtomically(refs: readonly Ref[]) {
      return state.isFree && records.readAtomically(refs);
    },
  });
  const groups = new Map<string, UnreadGroup>();
  for (const id of ids) {
    const rows = [1, 2, 3].map((version) => rowOf(id, version));
    for (const row of rows) store.force(rowRef(row), row);
    const group = rows.reduce<UnreadGroup | undefined>(join, undefined) as UnreadGroup;
    groups.set(id, group);
    store.force(groupRef(id), group);
  }
  await records.read(ids.map(groupRef));

  // With leavers, so that the rows are validated.
  const recent = (id: string) => ({
    ...recentOf(groups.get(id) as UnreadGroup, now),
    hasLeavers: true,
  });
  const query = (id: string, range: MemberRange = recent(id)): MembersQuery => ({
    target: { type: "post", id },
    kind,
    group: groupRef(id),
    range,
  });
  const knownIds = () => [...reads.known.keys()];
  return { store, reads, state, sent, groups, query, knownIds };
}

test("each query is sent once, and its result is known by its name", async () => {
  const { reads, sent, query, knownIds } = await createGroups("a", "b");
  const names = [query("a"), query("b")].map(queryName);
  expect(await reads.read([query("a"), query("b"), query("a")])).toBe(true);
  expect(sent).toEqual(names);
  expect(knownIds().sort()).toEqual(names.toSorted());
  expect(reads.known.get(queryName(query("a")))).toMatchObject({ count: 3 });
  reads.clear();
  expect(knownIds()).toEqual([]);
});

test("queries are sent side by side", async () => {
  const { store, reads, query } = await createGroups("a", "b", "c");
  const all = Promise.withResolvers<void>();
  let waiting = 0;
  store.arriving = async ({ op }) => {
    if (op === "members" && ++waiting === 3) all.resolve();
    if (op === "members") await all.promise;
    return undefined;
  };
  expect(await reads.read(["a", "b", "c"].map((id) => query(id)))).toBe(true);
});

test.each<[string, (rows: readonly Reaction[]) => readonly Reaction[]]>([
  ["misses one", (rows) => rows.slice(1)],
  ["has one too many", (rows) => [...rows, rowOf("a", 4)]],
  ["has one that is deleted instead of another", ([, ...rows]) => [...rows, rowOf("a", 4)]],
  [
    "has an earlier reaction of a person",
    ([one, ...rows]) => [{ ...(one as Reaction), version: 0 }, ...rows],
  ],
])("a result that %s is not used, and the group cannot be read now", async (_, change) => {
  const { reads, state, query, knownIds } = await createGroups("a");
  const first = change([1, 2, 3].map((version) => rowOf("a", version)));
  state.found = { count: first.length, first, latest: first.toReversed() };
  expect(await reads.read([query("a")])).toBe(false);
  expect(knownIds()).toEqual([]);
});

test("a row that was taken back meanwhile is no member", async () => {
  const { store, reads, state, query, knownIds } = await createGroups("a");
  const rows = [1, 2, 3].map((version) => rowOf("a", version));
  state.found = { count: 3, first: rows, latest: rows.toReversed() };
  store.force(rowRef(rowOf("a", 2)), { quietUntil: 9 });
  expect(await reads.read([query("a")])).toBe(false);
  expect(knownIds()).toEqual([]);
});

test("a transaction in the way of one group does not lose the results without it", async () => {
  const { reads, state, groups, query, knownIds } = await createGroups("a", "b");
  state.isFree = false;
  const split = query("b", splitOlderAt(groups.get("b") as UnreadGroup, now, 1));
  const ends = query("b", olderEnds(groups.get("b") as UnreadGroup, now));
  expect(await reads.read([query("a"), split, ends])).toBe(false);
  expect(knownIds().sort()).toEqual([queryName(ends), queryName(split)].sort());
});

test("a busy queue forgets the results of earlier calls", async () => {
  const { reads, query, knownIds } = await createGroups("a");
  const ends = { hasLeavers: false, read: "ends", from: 1, to: 3 } as const;
  const range = (i: number) => ({ key: `ends ${i}`, ...ends });
  const many = Array.from({ length: 1_001 }, (_, i) => query("a", range(i)));
  await reads.read(many);
  expect(knownIds()).toHaveLength(1_001);
  await reads.read([query("a")]);
  expect(knownIds()).toEqual([queryName(query("a"))]);
});
