/** Tests unread groups: the actors that they show, and what a mark-read leaves unread. */
import { describe, expect, test } from "vitest";
import { checkVersion, textOf, withoutGroup } from "../../src/domain/notification.ts";
import {
  createUnreadGroup,
  keptMs,
  shownActors,
  users,
} from "../support/fixtures/unread-group-fixture.ts";

describe("an unread group", () => {
  test.each([
    [1, ["u1"], ["u1"]],
    [2, ["u1", "u2"], ["u2", "u1"]],
    [3, ["u1", "u2"], ["u3", "u2", "u1"]],
    [5, ["u1", "u2"], ["u5", "u4", "u3"]],
    [9, ["u1", "u2"], ["u9", "u8", "u7"]],
  ])("of %i names two first and three latest", (count, first, latest) => {
    const unread = createUnreadGroup();
    unread.like(...users(count));
    expect(unread.group).toMatchObject({ peopleCount: count, firstVersion: 1, version: count });
    expect(shownActors(unread.group)).toEqual([first, latest]);
    expect(unread.inbox).toEqual({ version: count, groupCount: 1, peopleCount: count });
    expect(unread.takeQueryCount()).toBe(0);
  });

  test.each(users(5))("of five refills its names without a query when %s leaves", (userId) => {
    const unread = createUnreadGroup();
    unread.like(...users(5));
    unread.unlike(userId);
    const left = users(5).filter((each) => each !== userId);
    expect(unread.group).toMatchObject({ peopleCount: 4, firstVersion: 1, version: 5 });
    expect(shownActors(unread.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
    expect(unread.takeQueryCount()).toBe(0);
  });

  test.each(users(9))("of nine names two first and three latest when %s leaves", (userId) => {
    const unread = createUnreadGroup();
    unread.like(...users(9));
    unread.unlike(userId);
    const left = users(9).filter((each) => each !== userId);
    expect(unread.group).toMatchObject({ peopleCount: 8, firstVersion: 1, version: 9 });
    expect(shownActors(unread.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
    // The actors in the middle are not shown.
    const isShown = !["u3", "u4", "u5", "u6"].includes(userId);
    expect(unread.takeQueryCount()).toBe(isShown ? 1 : 0);
  });

  test("shown actors have an id and a name, and nothing else of a reaction", () => {
    const unread = createUnreadGroup();
    unread.like(...users(9));
    unread.unlike("u1", "u9");
    expect(unread.group?.firstActors[0]).toEqual({ userId: "u2", actorName: "u2!" });
    expect(unread.group?.latestActors[0]).toEqual({ userId: "u8", actorName: "u8!" });
  });

  test.each([
    ["in the order in which they came", users(12)],
    ["in the reverse order", users(12).reverse()],
    [
      "from the middle",
      ["u6", "u7", "u5", "u8", "u4", "u9", "u3", "u1", "u12", "u2", "u11", "u10"],
    ],
  ])("is right at every size while all actors leave %s", (_, order) => {
    const unread = createUnreadGroup();
    unread.like(...users(12));
    for (const userId of order) {
      unread.unlike(userId);
      const left = unread.members;
      expect(unread.group?.peopleCount ?? 0).toBe(left.length);
      expect(shownActors(unread.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
      expect(unread.inbox).toMatchObject({
        groupCount: left.length > 0 ? 1 : 0,
        peopleCount: left.length,
      });
    }
    expect(unread.group).toBeUndefined();
  });
});

describe("a read mark", () => {
  test("at the latest version moves the group unchanged", () => {
    const unread = createUnreadGroup();
    unread.like(...users(9));
    const { group } = unread;
    expect(unread.read(9)).toEqual({ ...group, readTime: 10_000, expireTime: 10_000 + keptMs });
    expect(unread.group).toBeUndefined();
    expect(unread.inbox).toEqual({ version: 10, groupCount: 0, peopleCount: 0 });
    expect(unread.takeQueryCount()).toBe(0);
  });

  test("beyond the group's version, after other changes of the inbox", () => {
    const unread = createUnreadGroup();
    unread.like("a", "owner", "b");
    unread.unlike("owner");
    expect(unread.read(4)).toMatchObject({ peopleCount: 2, firstVersion: 1, version: 3 });
    expect(unread.inbox).toEqual({ version: 5, groupCount: 0, peopleCount: 0 });
  });

  test.each([
    [1, 9],
    [3, 3],
    [8, 1],
    [20, 20],
  ])("at %i keeps the %i later actors unread", (seen, later) => {
    const unread = createUnreadGroup();
    unread.like(...users(seen));
    const before = unread.group;
    unread.like(...users(later, seen + 1));
    expect(unread.read(seen)).toEqual({
      ...before,
      readTime: 10_000,
      expireTime: 10_000 + keptMs,
    });
    const fresh = users(later, seen + 1);
    expect(unread.group).toMatchObject({
      firstVersion: seen + 1,
      version: seen + later,
      peopleCount: later,
      createTime: seen + 1,
      updateTime: seen + later,
    });
    expect(shownActors(unread.group)).toEqual([fresh.slice(0, 2), fresh.toReversed().slice(0, 3)]);
    expect(unread.inbox).toEqual({ version: seen + later + 1, groupCount: 1, peopleCount: later });
    expect(unread.members).toEqual(fresh);
  });

  test("after which no actor that was seen is left changes nothing", () => {
    const unread = createUnreadGroup();
    unread.like(...users(6));
    unread.unlike("u1", "u2", "u3");
    const { inbox, group } = unread;
    expect(unread.read(3)).toBeUndefined();
    expect(unread.inbox).toEqual(inbox);
    expect(unread.group).toEqual(group);
  });

  test("whose newcomers have all left reads the whole group", () => {
    const unread = createUnreadGroup();
    unread.like(...users(6));
    unread.unlike("u5", "u6");
    expect(unread.read(4)).toMatchObject({ peopleCount: 4, firstVersion: 1, version: 6 });
    expect(unread.group).toBeUndefined();
    expect(unread.inbox).toMatchObject({ groupCount: 0, peopleCount: 0 });
  });

  test("splits a group after unlikes on both sides", () => {
    const unread = createUnreadGroup();
    unread.like(...users(12));
    unread.unlike("u1", "u6", "u7", "u12");
    const read = unread.read(6);
    expect(read).toMatchObject({
      firstVersion: 1,
      version: 5,
      peopleCount: 4,
      createTime: 1,
      updateTime: 5,
    });
    expect(shownActors(read)).toEqual([
      ["u2", "u3"],
      ["u5", "u4", "u3"],
    ]);
    expect(unread.group).toMatchObject({
      firstVersion: 7,
      version: 12,
      peopleCount: 4,
      createTime: 8,
    });
    expect(shownActors(unread.group)).toEqual([
      ["u8", "u9"],
      ["u11", "u10", "u9"],
    ]);
    expect(unread.inbox).toEqual({ version: 17, groupCount: 1, peopleCount: 4 });
  });

  test("skips actors of whom the owner was not notified", () => {
    const unread = createUnreadGroup();
    unread.like("a");
    unread.mute(true);
    unread.like(...users(5));
    unread.mute(false);
    unread.like("b", "owner", "c");
    const read = unread.read(1);
    expect(read).toMatchObject({ peopleCount: 1, version: 1 });
    expect(unread.group).toMatchObject({ firstVersion: 2, peopleCount: 2, createTime: 7 });
    expect(shownActors(unread.group)).toEqual([
      ["b", "c"],
      ["c", "b"],
    ]);
    // A version at which no actor joined.
    expect(unread.read(4)).toBeUndefined();
    expect(unread.read(8)).toMatchObject({ peopleCount: 1, version: 7 });
    expect(shownActors(unread.group)).toEqual([["c"], ["c"]]);
  });

  test("before the group's first version, or without a group, changes nothing", () => {
    const unread = createUnreadGroup();
    expect(unread.read(0)).toBeUndefined();
    unread.like("a");
    unread.read(1);
    unread.like("b");
    const { inbox } = unread;
    expect(unread.read(2)).toBeUndefined();
    expect(unread.read(0)).toBeUndefined();
    expect(unread.inbox).toEqual(inbox);
    expect(unread.takeQueryCount()).toBe(0);
  });

  test("of a later version than the inbox's is refused, with a group or without", () => {
    const unread = createUnreadGroup();
    const tooEarly = expect.objectContaining({ reason: "INVALID_REQUEST" });
    expect(() => unread.read(1)).toThrow(tooEarly);
    unread.like(...users(3));
    expect(() => unread.read(4)).toThrow(tooEarly);
    expect(() => checkVersion(unread.inbox, 4)).toThrow(tooEarly);
    checkVersion(unread.inbox, 3);
  });

  test("again and again loses no actor and counts none twice", () => {
    const unread = createUnreadGroup();
    unread.like(...users(10));
    for (const version of [2, 5, 9, 10]) unread.read(version);
    expect(unread.history.map(({ firstVersion, version }) => [firstVersion, version])).toEqual([
      [1, 2],
      [3, 5],
      [6, 9],
      [10, 10],
    ]);
    expect(unread.history.map((group) => group.peopleCount)).toEqual([2, 3, 4, 1]);
    expect(unread.inbox).toEqual({ version: 14, groupCount: 0, peopleCount: 0 });
  });
});

test("a group that is purged takes its actors off the inbox", () => {
  const unread = createUnreadGroup();
  unread.like(...users(3));
  const { group } = unread;
  if (!group) throw new Error("there is no group");
  expect(withoutGroup({ version: 9, groupCount: 2, peopleCount: 8 }, group)).toEqual({
    version: 10,
    groupCount: 1,
    peopleCount: 5,
  });
});

test.each([
  [1, ["u1!"], 0],
  [2, ["u1!", "u2!"], 0],
  [3, ["u1!"], 2],
  [40, ["u1!"], 39],
])(
  "the text for %i has one or two names, or one name and the number of others",
  (count, names, others) => {
    const unread = createUnreadGroup();
    unread.like(...users(count));
    if (!unread.group) throw new Error("there is no group");
    expect(textOf(unread.group)).toEqual({ names, otherCount: others });
  },
);
