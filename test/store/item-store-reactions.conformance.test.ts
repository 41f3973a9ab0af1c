/** Tests both stores alike: what reactions and notifications depend on. */
import { randomUUID } from "node:crypto";
import { DescribeTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test, vi } from "vitest";
import type { MembersQuery } from "../../src/app/ports/engine.ts";
import type { PageRequest } from "../../src/app/ports/pages.ts";
import {
  inboxRef,
  type Kind,
  type Records,
  type Ref,
  reactionRef,
  readGroupRef,
  targetRef,
  unreadGroupRef,
} from "../../src/app/ports/records.ts";
import type { Actor, ReadGroup, UnreadGroup } from "../../src/domain/notification.ts";
import type { Reaction, Target, TargetName } from "../../src/domain/target.ts";
import { toItem } from "../../src/store/dynamodb/codecs/index.ts";
import { itemSize } from "../../src/store/dynamodb/sdk/item-size.ts";
import { createTables } from "../../src/store/dynamodb/tables.ts";
import { firstVersion } from "../../src/store/engine/item-store.ts";
import { patience } from "../support/fixtures/waiting.ts";
import {
  bothStores,
  check,
  fill,
  pages,
  rejection,
  remove,
  write,
} from "../support/stores/both-stores.ts";

const { stores, names, client } = bothStores();

/** New ids, so that tests with the same tables do not share records. */
const newTarget = (): TargetName => ({ type: "post", id: randomUUID() });
const newUser = () => `u-${randomUUID()}`;

const reaction = (target: TargetName, n: number, more: Partial<Reaction> = {}): Reaction => ({
  target,
  kind: "like",
  userId: `user-${n}`,
  actorName: `User ${n}`,
  version: n,
  notified: true,
  createTime: 1_790_000_000_000 + n,
  ...more,
});

const refOf = ({ target, kind, userId }: Reaction) => reactionRef(target, kind, userId);
const put = (row: Reaction) => write(refOf(row), row);

const target = (name: TargetName, more: Partial<Target> = {}): Target => ({
  ...name,
  ownerId: "owner",
  title: "A post",
  link: "https://example.com/1",
  counts: { like: 3 },
  muted: false,
  deleted: false,
  createTime: 1_790_000_000_000,
  ...more,
});

const actor = (userId: string): Actor => ({ userId, actorName: userId.toUpperCase() });

const group = (name: TargetName, last: number, more: Partial<UnreadGroup> = {}): UnreadGroup => ({
  kind: "like",
  target: name,
  firstVersion: 1,
  version: last,
  peopleCount: 2,
  firstActors: [actor("a"), actor("b")],
  latestActors: [actor("b"), actor("a")],
  createTime: 1_790_000_000_000,
  updateTime: 1_790_000_000_001,
  ...more,
});

const far = 253_402_300_799_999;
const readGroup = (name: TargetName, last: number, more: Partial<ReadGroup> = {}): ReadGroup => ({
  ...group(name, last),
  readTime: 1_790_000_000_002,
  expireTime: far,
  ...more,
});

describe.each(stores)("%s: transactions", (_, open) => {
  const setUp = () => {
    const name = newTarget();
    const [a, b] = [reaction(name, 1), reaction(name, 2)];
    return { ...open(), name, a, b };
  };

  test("a deleted record is absent, and a new one starts at its own version", async () => {
    const { store, a } = setUp();
    await fill(store, [put({ ...a, version: 7 })]);
    expect(await store.read([refOf(a)])).toEqual([{ value: { ...a, version: 7 }, version: 7 }]);
    const stale = await store.commit([remove(refOf(a), 6)], randomUUID());
    expect(stale).toMatchObject({ kind: "failed" });
    await fill(store, [remove(refOf(a), 7)]);
    expect(await store.read([refOf(a)])).toEqual([{ value: undefined, version: 0 }]);
    await fill(store, [put({ ...a, version: 9 })]);
    expect((await store.read([refOf(a)]))[0]?.version).toBe(9);
  });

  test("an absent record may be deleted, if it is absent", async () => {
    const { store, a, b } = setUp();
    await fill(store, [remove(refOf(a), 0), put(b)]);
    expect((await store.read([refOf(a), refOf(b)])).map(({ version }) => version)).toEqual([0, 2]);
    const result = await store.commit([remove(refOf(b), 0)], randomUUID());
    expect(result).toMatchObject({ kind: "failed" });
    if (result.kind !== "failed") return;
    expect([...result.found.values()]).toEqual([{ value: b, version: 2 }]);
    expect((await store.read([refOf(b)]))[0]?.version).toBe(2);
  });

  test("a check changes nothing, and its condition cancels all writes", async () => {
    const { store, a, b } = setUp();
    const inbox = {
      ref: inboxRef(newUser()),
      value: { version: 1, groupCount: 0, peopleCount: 0 },
    };
    await fill(store, [put(a)]);
    await fill(store, [check(refOf(a), 1), check(refOf(b), 0), write(inbox.ref, inbox.value)]);
    expect(await store.read([refOf(a), refOf(b)])).toEqual([
      { value: a, version: 1 },
      { value: undefined, version: 0 },
    ]);

    const failed = await store.commit(
      [check(refOf(a), 0), check(refOf(b), 5), remove(inbox.ref, 1)],
      randomUUID(),
    );
    if (failed.kind !== "failed") throw new Error(failed.kind);
    expect([...failed.found].map(([{ id }, loaded]) => [id, loaded])).toEqual([
      [refOf(a).id, { value: a, version: 1 }],
      [refOf(b).id, { value: undefined, version: 0 }],
    ]);
    expect((await store.read([inbox.ref]))[0]?.version).toBe(1);
  });

  test("the same deletes and checks under one token happen once", async () => {
    const { store, a, b } = setUp();
    await fill(store, [put(a), put(b)]);
    const [writes, token] = [[remove(refOf(a), 1), check(refOf(b), 2)], randomUUID()];
    expect(await store.commit(writes, token)).toEqual({ kind: "committed" });
    expect(await store.commit(writes, token)).toEqual({ kind: "committed" });
  });
});

const longest = {
  type: "t".repeat(20),
  id: "i".repeat(64),
  kind: "k".repeat(20),
  ownerId: "o".repeat(64),
};

/** The largest record of each kind, with the longest texts and numbers. */
function longestOf(): [string, Ref, Records[Kind]][] {
  const name = { type: longest.type, id: longest.id };
  const n = Number.MAX_SAFE_INTEGER - 1;
  const people = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      userId: `${i}`.repeat(64),
      actorName: `${i}`.repeat(64),
    }));
  const full: UnreadGroup = {
    kind: longest.kind,
    target: name,
    firstVersion: n,
    version: 999_999_999_999_999,
    peopleCount: n,
    firstActors: people(2),
    latestActors: people(3),
    createTime: far,
    updateTime: far,
  };
  const kinds = Array.from({ length: 16 }, (_, i) => [`${i}`.padStart(20, "k"), n]);
  const everything = target(name, {
    ownerId: longest.ownerId,
    title: "題".repeat(32),
    link: "l".repeat(200),
    counts: Object.fromEntries(kinds),
    muted: true,
    deleted: true,
    createTime: far,
  });
  const row = reaction(name, n, {
    kind: longest.kind,
    userId: "u".repeat(64),
    actorName: "名".repeat(21),
    notified: false,
    createTime: far,
  });
  const read: ReadGroup = { ...full, readTime: far, expireTime: far };
  return [
    ["target", targetRef(name), everything],
    ["reaction", refOf(row), row],
    ["inbox", inboxRef(longest.ownerId), { version: n, groupCount: n, peopleCount: n }],
    ["unreadGroup", unreadGroupRef(longest.ownerId, name, longest.kind), full],
    ["readGroup", readGroupRef(longest.ownerId, read), read],
  ];
}

test.each(longestOf())("the largest %s is under 1 KB", (_, ref, value) => {
  expect(itemSize(toItem(ref, value, Number.MAX_SAFE_INTEGER - 1))).toBeLessThan(1024);
});

describe.each(stores)("%s: records", (_, open) => {
  test("come back as they were written", async () => {
    const { store, reader } = open();
    const name = { type: "a-b_c", id: `!~:/@$\\"${randomUUID()}` };
    const ownerId = newUser();
    const plain = target(name, { title: "", link: "", counts: {}, ownerId });
    const all: [string, Ref, Records[Kind]][] = [
      ...longestOf(),
      ["target without words", targetRef(name), plain],
      ["reaction", refOf(reaction(name, 3)), reaction(name, 3)],
      [
        "reaction without a name",
        reactionRef(name, "like", "x"),
        reaction(name, 4, { userId: "x", actorName: "" }),
      ],
      ["inbox", inboxRef(ownerId), { version: 0, groupCount: 0, peopleCount: 0 }],
      ["unreadGroup", unreadGroupRef(ownerId, name, "like"), group(name, 3)],
      ["readGroup", readGroupRef(ownerId, group(name, 3)), readGroup(name, 3)],
    ];
    await fill(
      store,
      all.map(([, ref, value]) => write(ref, value)),
    );
    const loaded = await store.read(all.map(([, ref]) => ref));
    for (const [i, [what, ref, value]] of all.entries()) {
      const version = firstVersion(ref.kind, value);
      expect.soft(loaded[i], what).toEqual({ value, version });
      expect.soft(await reader.get(ref), what).toEqual({ value, version });
    }
    await fill(
      store,
      all.map(([, ref], i) => remove(ref, loaded[i]?.version ?? 0)),
    );
  });

  test("many records come in the requested order, repeated and absent ones included", async () => {
    const { store, reader } = open();
    const name = newTarget();
    const rows = Array.from({ length: 130 }, (_, i) => reaction(name, i + 1));
    await fill(store, rows.map(put));
    await fill(store, [write(targetRef(name), target(name))]);
    const indexes = Array.from({ length: 260 }, (_, i) => i % 140);
    const found = await reader.many(indexes.map((i) => reactionRef(name, "like", `user-${i + 1}`)));
    expect(found).toEqual(indexes.map((i) => rows[i]));
    expect(await reader.many([targetRef(name), targetRef(newTarget())])).toEqual([
      target(name),
      undefined,
    ]);
    expect(await reader.many([])).toEqual([]);
  });
});

describe.each(stores)("%s: members of a group", (_, open) => {
  const versionsOf = (rows: readonly Reaction[]) => rows.map(({ version }) => version);
  const end = Number.MAX_SAFE_INTEGER;
  const membersOf = async (
    store: ReturnType<typeof open>["store"],
    query: Omit<MembersQuery, "kind"> & { kind?: string },
  ) => {
    const { count, first, latest } = await store.groupMembers({ kind: "like", ...query });
    return [count, versionsOf(first), versionsOf(latest)];
  };

  test("a few, and none", async () => {
    const { store } = open();
    const name = newTarget();
    await fill(
      store,
      [2, 5].map((n) => put(reaction(name, n))),
    );
    await fill(store, [
      put(reaction(name, 3, { kind: "love" })),
      put(reaction({ ...name, type: "other" }, 4)),
    ]);
    const query = { target: name, from: 1, to: end };
    expect(await membersOf(store, { ...query, counted: false })).toEqual([0, [2, 5], [5, 2]]);
    expect(await membersOf(store, { ...query, counted: true })).toEqual([2, [2, 5], [5, 2]]);
    expect(await membersOf(store, { ...query, from: 6, counted: false })).toEqual([0, [], []]);
    expect(await membersOf(store, { ...query, from: 6, counted: true })).toEqual([0, [], []]);
    expect(await membersOf(store, { ...query, to: 2, counted: true })).toEqual([1, [2], [2]]);
    expect(await membersOf(store, { ...query, kind: "love", counted: true })).toEqual([
      1,
      [3],
      [3],
    ]);
    const { first } = await store.groupMembers({ ...query, kind: "like", counted: false });
    expect(first).toEqual([reaction(name, 2), reaction(name, 5)]);
  });

  test("three first and four latest of many, the ends of the range included", async () => {
    const { store } = open();
    const name = newTarget();
    await fill(
      store,
      Array.from({ length: 40 }, (_, i) => put(reaction(name, i + 1))),
    );
    const all = { target: name, from: 1, to: end };
    expect(await membersOf(store, { ...all, counted: false })).toEqual([
      0,
      [1, 2, 3],
      [40, 39, 38, 37],
    ]);
    const some = { target: name, from: 11, to: 30 };
    const ends = [
      [11, 12, 13],
      [30, 29, 28, 27],
    ];
    expect(await membersOf(store, { ...some, counted: false })).toEqual([0, ...ends]);
    expect(await membersOf(store, { ...some, counted: true })).toEqual([20, ...ends]);
  });

  test("a whole group: all of its rows, and more than expected when there are more", async () => {
    const { store } = open();
    const name = newTarget();
    const numbers = Array.from({ length: 40 }, (_, i) => i + 1);
    await fill(
      store,
      numbers.map((n) => put(reaction(name, n))),
    );
    const all = { target: name, from: 1, to: end, counted: true };
    const rows = [numbers, numbers.toReversed()];
    expect(await membersOf(store, { ...all, whole: 40 })).toEqual([40, ...rows]);
    expect(await membersOf(store, { ...all, whole: 50 })).toEqual([40, ...rows]);
    const [count] = await membersOf(store, { ...all, whole: 39 });
    expect(count).toBe(40);
  });

  test("after and between many reactions without a notification", async () => {
    const { store } = open();
    const name = newTarget();
    const notified = new Set([30, 31, 100, 250, 251, 252, 253]);
    await fill(
      store,
      Array.from({ length: 300 }, (_, i) =>
        put(reaction(name, i + 1, { notified: notified.has(i + 1) })),
      ),
    );
    const all = { target: name, from: 1, to: end };
    const ends = [
      [30, 31, 100],
      [253, 252, 251, 250],
    ];
    expect(await membersOf(store, { ...all, counted: false })).toEqual([0, ...ends]);
    expect(await membersOf(store, { ...all, counted: true })).toEqual([7, ...ends]);
    const gap = { target: name, from: 101, to: 249 };
    expect(await membersOf(store, { ...gap, counted: false })).toEqual([0, [], []]);
    expect(await membersOf(store, { ...gap, counted: true })).toEqual([0, [], []]);
  });

  test("counts over many pages", async () => {
    const { store } = open();
    const name = newTarget();
    // Pages end at 1 MB; these rows are larger than real ones, so that there are several pages.
    const heavy = "n".repeat(30_000);
    await fill(
      store,
      Array.from({ length: 90 }, (_, i) => put(reaction(name, i + 1, { actorName: heavy }))),
    );
    const all = { target: name, from: 1, to: end };
    expect(await membersOf(store, { ...all, counted: true })).toEqual([
      90,
      [1, 2, 3],
      [90, 89, 88, 87],
    ]);
  });
});

describe.each(stores)("%s: lists", (_, open) => {
  test("who reacts, newest first: all, and the notified ones in a range", async () => {
    const { store, reader } = open();
    const name = newTarget();
    const rows = Array.from({ length: 25 }, (_, i) =>
      reaction(name, i + 1, { notified: i % 5 !== 2 }),
    );
    await fill(store, rows.map(put));
    await fill(store, [
      put(reaction(name, 26, { kind: "love" })),
      write(targetRef(name), target(name)),
    ]);
    const query = { target: name, kind: "like" };
    const newest = rows.toReversed();
    for (const size of [1, 10, 100]) {
      const found = await pages((page) => reader.reactions(query, page), size);
      expect(found.flat()).toEqual(newest);
    }
    const notified = { from: 4, to: 20 };
    for (const size of [1, 4, 100]) {
      const ask = (page: PageRequest) => reader.reactions({ ...query, notified }, page);
      expect((await pages(ask, size)).flat()).toEqual(
        newest.filter((row) => row.notified && row.version >= 4 && row.version <= 20),
      );
    }
    const unknown = { target: newTarget(), kind: "like" };
    expect(await pages((page) => reader.reactions(unknown, page), 5)).toEqual([[]]);
  });

  test("the reactions of one user, newest first", async () => {
    const { store, reader } = open();
    const userId = newUser();
    // Some at the same instant; their versions are of different owners and give no order.
    const rows = Array.from({ length: 12 }, (_, i) =>
      reaction(newTarget(), 100 - i, {
        userId,
        createTime: Math.floor(i / 2),
        notified: i % 3 === 0,
      }),
    );
    await fill(store, rows.map(put));
    const list = (size: number) => pages((page) => reader.reactionsOfUser(userId, page), size);
    await vi.waitFor(async () => {
      const found = (await list(5)).flat();
      expect(found.map(({ createTime }) => createTime)).toEqual(
        rows.map(({ createTime }) => createTime).reverse(),
      );
      const byNumber = (a: Reaction, b: Reaction) => b.version - a.version;
      expect(found.toSorted(byNumber)).toEqual(rows);
    }, patience);
    await fill(store, [remove(refOf(rows[0] as Reaction), 100)]);
    await vi.waitFor(async () => expect((await list(100)).flat()).toHaveLength(11), patience);
  });

  test("targets are in no list of reactions", async () => {
    const { store, reader } = open();
    const name = newTarget();
    await fill(store, [write(targetRef(name), target(name))]);
    // The sort key of targets as a user id.
    const row = reaction(name, 1, { userId: "T" });
    await fill(store, [put(row)]);
    await vi.waitFor(async () => {
      const { items: found } = await reader.reactionsOfUser("T", { size: 99, cursor: undefined });
      expect(found.filter((each) => each.target.id === name.id)).toEqual([row]);
    }, patience);
    await fill(store, [remove(refOf(row), 1)]);
  });

  test("unread groups by their version, in both orders", async () => {
    const { store, reader } = open();
    const ownerId = newUser();
    const groups = Array.from({ length: 15 }, (_, i) => group(newTarget(), (i + 1) * 7));
    await fill(
      store,
      groups.map((each) => write(unreadGroupRef(ownerId, each.target, "like"), each)),
    );
    const other = `${ownerId}x`;
    await fill(store, [
      write(inboxRef(ownerId), { version: 200, groupCount: 15, peopleCount: 30 }),
      write(readGroupRef(ownerId, group(newTarget(), 50)), readGroup(newTarget(), 50)),
      write(unreadGroupRef(other, newTarget(), "like"), group(newTarget(), 60)),
    ]);
    const list = async (newestFirst: boolean, size: number) =>
      (await pages((page) => reader.unreadGroups(ownerId, newestFirst, page), size)).flat();
    for (const size of [1, 5, 100]) {
      expect(await list(true, size)).toEqual(groups.toReversed());
      expect(await list(false, size)).toEqual(groups);
    }
    // A group with a new reaction moves to the end.
    const [first] = groups as [UnreadGroup];
    const moved = { ...first, version: 201 };
    await fill(store, [write(unreadGroupRef(ownerId, first.target, "like"), moved, 7)]);
    expect((await list(false, 4)).at(-1)).toEqual(moved);
    expect(await list(false, 4)).toHaveLength(15);
  });

  test("history by version, newest first, without expired groups", async () => {
    const { store, reader } = open();
    const ownerId = newUser();
    // Versions of different lengths sort as numbers; half of the groups expire one after another.
    const read = Array.from({ length: 20 }, (_, i) =>
      readGroup(newTarget(), 3 ** i, { expireTime: i % 2 === 0 ? far : far - 1_000 + i }),
    );
    await fill(
      store,
      read.map((each) => write(readGroupRef(ownerId, each), each)),
    );
    await fill(store, [write(unreadGroupRef(ownerId, newTarget(), "like"), group(newTarget(), 5))]);
    const list = async (now: number, size: number) =>
      (await pages((page) => reader.readGroups(ownerId, now, page), size)).flat();
    const newest = read.toReversed();
    expect(await list(0, 6)).toEqual(newest);
    for (const size of [1, 6, 100]) {
      expect(await list(far - 1_000 + 9, size)).toEqual(
        newest.filter(({ expireTime }) => expireTime > far - 1_000 + 9),
      );
    }
    expect(await list(far, 6)).toEqual([]);
  });

  test("inboxes of many owners, as far as they exist", async () => {
    const { store, reader } = open();
    const ownerIds = Array.from({ length: 230 }, () => newUser());
    const inbox = (i: number) => ({ version: i, groupCount: 1, peopleCount: 2 });
    const there = ownerIds.flatMap((ownerId, i) =>
      i % 3 === 0 ? [[ownerId, inbox(i)] as const] : [],
    );
    await fill(
      store,
      there.map(([ownerId, value]) => write(inboxRef(ownerId), value)),
    );
    await vi.waitFor(async () => {
      const found = await reader.inboxes([...ownerIds, ...ownerIds.slice(0, 10)]);
      expect(found).toEqual(new Map(there));
    }, patience);
    expect(await reader.inboxes([])).toEqual(new Map());
  });

  test("a cursor is valid only for its own list", async () => {
    const { store, reader } = open();
    const [ownerId, userId, name] = [newUser(), newUser(), newTarget()];
    await fill(store, [
      ...[1, 2, 3].map((n) => put(reaction(name, n))),
      ...[1, 2, 3].map((n) => put(reaction(newTarget(), n, { userId }))),
      ...[1, 2, 3].map((n) => write(unreadGroupRef(ownerId, newTarget(), "like"), group(name, n))),
      ...[1, 2, 3].map((n) => write(readGroupRef(ownerId, group(name, n)), readGroup(name, n))),
    ]);
    const lists = {
      reactions: (page: PageRequest) => reader.reactions({ target: name, kind: "like" }, page),
      otherReactions: (page: PageRequest) => reader.reactions({ target: name, kind: "x" }, page),
      reactionsOfUser: (page: PageRequest) => reader.reactionsOfUser(userId, page),
      otherUser: (page: PageRequest) => reader.reactionsOfUser("another", page),
      unreadGroups: (page: PageRequest) => reader.unreadGroups(ownerId, true, page),
      otherUnreadGroups: (page: PageRequest) => reader.unreadGroups("another", true, page),
      readGroups: (page: PageRequest) => reader.readGroups(ownerId, 0, page),
      otherReadGroups: (page: PageRequest) => reader.readGroups("another", 0, page),
      programs: (page: PageRequest) => reader.programs(page),
    };
    const first = { size: 1, cursor: undefined };
    await vi.waitFor(async () => {
      expect((await lists.reactionsOfUser(first)).cursor).toBeDefined();
    }, patience);
    for (const from of ["reactions", "reactionsOfUser", "unreadGroups", "readGroups"] as const) {
      const { cursor } = await lists[from](first);
      expect(cursor?.length, from).toBeGreaterThan(0);
      for (const [to, ask] of Object.entries(lists)) {
        const error = await rejection(ask({ size: 1, cursor }));
        if (to === from) expect(error, to).toBeUndefined();
        else expect(error, `${from} in ${to}`).toMatchObject({ reason: "INVALID_REQUEST" });
      }
    }
    for (const ask of Object.values(lists)) {
      const error = await rejection(ask({ size: 1, cursor: "{" }));
      expect(error).toMatchObject({ reason: "INVALID_REQUEST" });
    }
  });
});

describe.each(stores)("%s: purges", (_, open) => {
  test("of reactions of one kind to one target, 1,000 at a time", async () => {
    const { store, reader, purger } = open();
    const [name, userId] = [newTarget(), newUser()];
    const rows = Array.from({ length: 1_030 }, (_, i) =>
      reaction(name, i + 1, { userId: `u${i}` }),
    );
    const kept = [
      reaction(name, 2_000, { kind: "love", userId }),
      reaction({ ...name, id: `${name.id}x` }, 2_001, { userId }),
    ];
    await fill(store, [...rows, ...kept].map(put));
    expect(await purger.reactions(name, "like")).toBe(true);
    const left = await pages((page) => reader.reactions({ target: name, kind: "like" }, page), 500);
    expect(left.flat()).toHaveLength(30);
    expect(await purger.reactions(name, "like")).toBe(false);
    expect(await purger.reactions(name, "like")).toBe(false);
    const gone = await reader.many(rows.map(refOf));
    expect(gone.every((row) => row === undefined)).toBe(true);
    expect(await reader.many(kept.map(refOf))).toEqual(kept);
  });

  test("of the history of one target, page by page", async () => {
    const { store, reader, purger } = open();
    const [ownerId, name] = [newUser(), newTarget()];
    const others = [{ ...name, type: "xpost" }, { ...name, id: `x${name.id}` }, newTarget()];
    const read = Array.from({ length: 1_300 }, (_, i) =>
      i % 3 === 0
        ? readGroup(others[i % others.length] as TargetName, i + 1)
        : readGroup(name, i + 1, { kind: i % 2 === 0 ? "like" : "love" }),
    );
    await fill(
      store,
      read.map((each) => write(readGroupRef(ownerId, each), each)),
    );
    const stays = readGroup(name, 1);
    await fill(store, [write(readGroupRef(`${ownerId}x`, stays), stays)]);
    let cursor: string | undefined;
    let calls = 0;
    do {
      cursor = await purger.history(ownerId, name, cursor);
      calls += 1;
    } while (cursor !== undefined && calls < 100);
    expect(calls).toBeGreaterThan(1);
    const left = await pages((page) => reader.readGroups(ownerId, 0, page), 500);
    const isOther = ({ target: of }: ReadGroup) => of.type !== name.type || of.id !== name.id;
    expect(left.flat()).toEqual(read.filter(isOther).reverse());
    expect(await reader.get(readGroupRef(`${ownerId}x`, stays))).toBeDefined();
    expect(await purger.history(newUser(), name, undefined)).toBeUndefined();
  });
});

test("tables are created once; only history has a TTL", async () => {
  await createTables(client(), names);
  const ttlOf = async (table: string) => {
    const command = new DescribeTimeToLiveCommand({ TableName: table });
    const { TimeToLiveDescription: found } = await client().send(command);
    return found?.TimeToLiveStatus === "DISABLED" ? undefined : found?.AttributeName;
  };
  expect(await ttlOf(names("notifications"))).toBe("ttl");
  for (const table of ["points", "reservations", "reactions"] as const) {
    expect(await ttlOf(names(table))).toBeUndefined();
  }
  const name = newTarget();
  const read = toItem(
    readGroupRef("o", group(name, 1)),
    readGroup(name, 1, { expireTime: 5_001 }),
    1,
  );
  expect(read).toMatchObject({ ttl: { N: "6" }, x: { N: "5001" } });
  const unread = toItem(unreadGroupRef("o", name, "like"), group(name, 1), 1);
  const inbox = toItem(inboxRef("o"), { version: 1, groupCount: 1, peopleCount: 1 }, 1);
  expect("ttl" in unread || "ttl" in inbox).toBe(false);
  // The index by-last has the items with an `l`.
  expect([read, inbox, unread].map((item) => "l" in item)).toEqual([false, false, true]);
});
