/** Tests lists of read groups, many inboxes, and that a cursor belongs to its own list. */
import { describe, expect, test } from "vitest";
import { inboxRef, mutedPersonRef, mutedTargetRef } from "../../../src/feed/ports/records.ts";
import { versionOf } from "../../../src/feed/rules/unread-group.ts";
import type { PageRequest } from "../../../src/platform/ports/pages.ts";
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
} from "../../support/fixtures/stored-reactions.ts";
import { type OpenStore, openMemory as open } from "../../support/stores/both-stores.ts";
import { fill, pages, rejection, write } from "../../support/stores/records.ts";

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
});

describe("muted people and inboxes", () => {
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
