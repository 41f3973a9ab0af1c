/** Tests the readers of reactions and notifications: lists of unread and read groups, of what is muted; many inboxes. */
import { describe, expect, test } from "vitest";
import type { PageRequest } from "../../../src/app/ports/pages.ts";
import {
  inboxRef,
  mutedPersonRef,
  mutedTargetRef,
  notifiedEventRef,
} from "../../../src/app/ports/records.ts";
import { type UnreadGroup, versionOf } from "../../../src/domain/unread-group.ts";
import { notifiedEvent } from "../../support/fixtures/stored-events.ts";
import {
  far,
  inbox,
  newTarget,
  newUser,
  put,
  putRead,
  putUnread,
  range,
  reaction,
  readGroup,
  unreadGroup,
  unreadRefOf,
} from "../../support/fixtures/stored-reactions.ts";
import { type OpenStore, openMemory as open } from "../../support/stores/both-stores.ts";
import { fill, pages, rejection, remove, write } from "../../support/stores/records.ts";

describe("unread groups", () => {
  /** Sets up groups of the versions 7, 14 and so on up to 105, beside records of other lists. */
  async function setUp() {
    const { store, reader } = open();
    const ownerId = newUser();
    const groups = range(1, 15).map((n) => unreadGroup(newTarget(), n * 7));
    await fill(
      store,
      groups.map((each) => putUnread(ownerId, each)),
    );
    await fill(store, [
      write(inboxRef(ownerId), inbox(200)),
      putRead(ownerId, readGroup(newTarget(), 50)),
      write(mutedPersonRef(ownerId, "u"), { userId: "u", time: 1 }),
      write(notifiedEventRef(ownerId, "s", "e"), notifiedEvent()),
      putUnread(`${ownerId}x`, unreadGroup(newTarget(), 60)),
    ]);
    const list = async (newestFirst: boolean, size: number, before?: number) =>
      (await pages((page) => reader.unreadGroups(ownerId, newestFirst, page, before), size)).flat();
    return { store, ownerId, groups, list };
  }

  test("by their version, in both orders", async () => {
    const { store, ownerId, groups, list } = await setUp();
    for (const size of [1, 5, 100]) {
      expect(await list(true, size)).toEqual(groups.toReversed());
      expect(await list(false, size)).toEqual(groups);
    }
    // A group with a new reaction moves to the end, and back when that is taken back.
    const [first] = groups as [UnreadGroup];
    const moved = unreadGroup(first.target, 201);
    await fill(store, [write(unreadRefOf(ownerId, first), moved, 7)]);
    expect((await list(false, 4)).at(-1)).toEqual(moved);
    expect(await list(false, 4)).toHaveLength(15);
    await fill(store, [write(unreadRefOf(ownerId, first), first, 8)]);
    expect(await list(false, 4)).toEqual(groups);
  });

  test("only those of a version below a limit, in both orders", async () => {
    const { groups, list } = await setUp();
    for (const [before, count] of [
      [106, 15],
      [105, 14],
      [70, 9],
      [8, 1],
      [7, 0],
    ] as const) {
      for (const size of [1, 4, 100]) {
        const found = groups.slice(0, count);
        expect(await list(false, size, before)).toEqual(found);
        expect(await list(true, size, before)).toEqual(found.toReversed());
      }
    }
  });
});

describe("read groups", () => {
  test("by version, newest first, below a limit if given, without expired ones", async () => {
    const { store, reader } = open();
    const ownerId = newUser();
    // Versions of different lengths sort as numbers; half of the groups expire one after another.
    const read = range(0, 19).map((i) =>
      readGroup(newTarget(), 3 ** i, { expireTime: i % 2 === 0 ? far : far - 1_000 + i }),
    );
    await fill(
      store,
      read.map((each) => putRead(ownerId, each)),
    );
    await fill(store, [
      putUnread(ownerId, unreadGroup(newTarget(), 5)),
      putRead(`${ownerId}x`, readGroup(newTarget(), 5)),
    ]);
    const list = async (now: number, size: number, before?: number) =>
      (await pages((page) => reader.readGroups(ownerId, now, page, before), size)).flat();
    const newest = read.toReversed();
    expect(await list(0, 6)).toEqual(newest);
    const now = far - 1_000 + 9;
    const left = newest.filter(({ expireTime }) => expireTime > now);
    for (const size of [1, 6, 100]) {
      expect(await list(now, size)).toEqual(left);
      for (const before of [1, 2, 81, 82, 3 ** 19]) {
        const below = left.filter((each) => versionOf(each) < before);
        expect(await list(now, size, before)).toEqual(below);
      }
    }
    expect(await list(far, 6)).toEqual([]);
  });

  test("of one version but of several targets and kinds are all listed", async () => {
    const { store, reader } = open();
    const ownerId = newUser();
    const name = newTarget();
    const read = [
      readGroup(name, 9),
      readGroup(name, 9, { kind: "~like" }),
      readGroup({ ...name, type: "video" }, 9),
    ];
    await fill(
      store,
      read.map((each) => putRead(ownerId, each)),
    );
    const list = (page: PageRequest) => reader.readGroups(ownerId, 0, page, 10);
    const found = (await pages(list, 1)).flat();
    expect(found).toHaveLength(3);
    expect(found).toEqual(expect.arrayContaining(read));
    expect((await pages(list, 100)).flat()).toHaveLength(3);
  });
});

describe("muted people and inboxes", () => {
  test("the muted people of one owner, by id", async () => {
    const { store, reader } = open();
    const ownerId = newUser();
    const people = ["-", "0", "A", "a", "b~"].map((userId, i) => ({ userId, time: 100 - i }));
    await fill(
      store,
      people.toReversed().map((each) => write(mutedPersonRef(ownerId, each.userId), each)),
    );
    await fill(store, [
      write(mutedPersonRef(`${ownerId}x`, "c"), { userId: "c", time: 1 }),
      write(inboxRef(ownerId), inbox(1)),
      putUnread(ownerId, unreadGroup(newTarget(), 1)),
    ]);
    const list = async (size: number) =>
      (await pages((page) => reader.mutedPeople(ownerId, page), size)).flat();
    for (const size of [1, 2, 100]) expect(await list(size)).toEqual(people);
    await fill(store, [remove(mutedPersonRef(ownerId, "A"), 1)]);
    expect(await list(3)).toEqual(people.filter(({ userId }) => userId !== "A"));
  });

  test("the muted targets of one owner, by type and id", async () => {
    const { store, reader } = open();
    const ownerId = newUser();
    const names = [
      ["a", "2"],
      ["a", "b~"],
      ["a-b", "1"],
      ["b", "1"],
    ] as const;
    const targets = names.map(([type, id], i) => ({ target: { type, id }, time: i }));
    await fill(
      store,
      targets.toReversed().map((each) => write(mutedTargetRef(ownerId, each.target), each)),
    );
    const other = { target: newTarget(), time: 1 };
    await fill(store, [
      write(mutedTargetRef(`${ownerId}x`, other.target), other),
      write(mutedPersonRef(ownerId, "u"), { userId: "u", time: 1 }),
    ]);
    const list = async (size: number) =>
      (await pages((page) => reader.mutedTargets(ownerId, page), size)).flat();
    for (const size of [1, 3, 100]) expect(await list(size)).toEqual(targets);
  });

  test("inboxes of many owners, as far as they exist", async () => {
    const { store, reader } = open();
    const ownerIds = range(1, 230).map(newUser);
    const found = ownerIds.flatMap((ownerId, i) =>
      i % 3 === 0 ? [[ownerId, inbox(i + 1, { unseen: [i + 1] })] as const] : [],
    );
    await fill(
      store,
      found.map(([ownerId, value]) => write(inboxRef(ownerId), value)),
    );
    const inboxes = await reader.inboxes([...ownerIds, ...ownerIds.slice(0, 10)]);
    expect(inboxes).toEqual(new Map(found));
    expect(await reader.inboxes([])).toEqual(new Map());
  });
});

/** Every list, of an owner, person or target with three rows and of another one. */
function listsOf({ reader }: OpenStore, name: ReturnType<typeof newTarget>, id: string) {
  return {
    reactions: (page: PageRequest) => reader.reactions({ target: name, kind: "like" }, page),
    otherReactions: (page: PageRequest) => reader.reactions({ target: name, kind: "x" }, page),
    reactionsOfUser: (page: PageRequest) => reader.reactionsOfUser(id, page),
    otherUser: (page: PageRequest) => reader.reactionsOfUser("another", page),
    pendingPurges: (page: PageRequest) => reader.pendingPurges(page),
    unreadGroups: (page: PageRequest) => reader.unreadGroups(id, true, page),
    otherUnreadGroups: (page: PageRequest) => reader.unreadGroups("another", true, page),
    readGroups: (page: PageRequest) => reader.readGroups(id, 0, page),
    otherReadGroups: (page: PageRequest) => reader.readGroups("another", 0, page),
    mutedPeople: (page: PageRequest) => reader.mutedPeople(id, page),
    otherMutedPeople: (page: PageRequest) => reader.mutedPeople("another", page),
    mutedTargets: (page: PageRequest) => reader.mutedTargets(id, page),
    otherMutedTargets: (page: PageRequest) => reader.mutedTargets("another", page),
    programs: (page: PageRequest) => reader.programs(page),
  };
}

test("a cursor is valid only for its own list", async () => {
  const opened = open();
  const { store } = opened;
  const [name, id] = [newTarget(), newUser()];
  const numbers = [1, 2, 3];
  await fill(store, [
    ...numbers.map((n) => put(reaction(name, n))),
    ...numbers.map((n) => put(reaction(newTarget(), n, { userId: id }))),
    ...numbers.map((n) => putUnread(id, unreadGroup(newTarget(), n))),
    ...numbers.map((n) => putRead(id, readGroup(newTarget(), n))),
    ...numbers.map((n) => write(mutedPersonRef(id, `u${n}`), { userId: `u${n}`, time: n })),
    ...numbers
      .map((n) => ({ target: { type: "post", id: `${n}` }, time: n }))
      .map((muted) => write(mutedTargetRef(id, muted.target), muted)),
  ]);
  const lists = listsOf(opened, name, id);
  const first = { size: 1, cursor: undefined };
  expect((await lists.reactionsOfUser(first)).cursor).toBeDefined();
  const full = [
    "reactions",
    "reactionsOfUser",
    "unreadGroups",
    "readGroups",
    "mutedPeople",
    "mutedTargets",
  ];
  for (const from of full as (keyof typeof lists)[]) {
    const { cursor } = await lists[from](first);
    expect(cursor?.length, from).toBeGreaterThan(0);
    for (const [to, list] of Object.entries(lists)) {
      const error = await rejection(list({ size: 1, cursor }));
      if (to === from) expect(error, to).toBeUndefined();
      else expect(error, `${from} in ${to}`).toMatchObject({ reason: "INVALID_REQUEST" });
    }
  }
  for (const list of Object.values(lists)) {
    const error = await rejection(list({ size: 1, cursor: "{" }));
    expect(error).toMatchObject({ reason: "INVALID_REQUEST" });
  }
});
