/** Tests what a mark as read moves to history, and what it leaves unread. */
import { describe, expect, test } from "vitest";
import { markRead } from "../../../src/feed/rules/notification.ts";
import type { UnreadGroup } from "../../../src/feed/rules/unread-group.ts";
import {
  createUnreadGroup,
  inboxWith,
  keptMs,
  shownMembers,
  sizeOf,
  users,
} from "../../support/fixtures/unread-group-fixture.ts";

/** What a group has in history: no counts for later joins and leaves, and two times. */
const inHistory = ({ leaveCount: _, leaveTime: __, recent: ___, ...group }: UnreadGroup) => ({
  ...group,
  readTime: expect.any(Number),
  expireTime: expect.any(Number),
});

describe("a read mark", () => {
  test("at the latest version moves the group unchanged", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(9));
    const group = unread.group as UnreadGroup;
    expect(await unread.read(9)).toEqual(inHistory(group));
    expect(unread.group).toBeUndefined();
    expect(unread.inbox).toEqual(inboxWith(10, 0, 0));
    expect(unread.takeQueries()).toEqual([]);
  });

  test.each([
    [3, 3],
    [20, 200],
    [200, 20],
  ])("at %i keeps the %i later members unread", async (seen, later) => {
    const unread = createUnreadGroup();
    unread.like(...users(seen));
    const before = unread.group as UnreadGroup;
    unread.like(...users(later, seen + 1));
    expect(await unread.read(seen)).toEqual(inHistory(before));
    const fresh = users(later, seen + 1);
    expect(sizeOf(unread.group)).toEqual([later, seen + 1, seen + later]);
    expect(shownMembers(unread.group)).toEqual([fresh.slice(0, 2), fresh.toReversed().slice(0, 3)]);
    expect(unread.inbox).toEqual(inboxWith(seen + later + 1, 1, later, seen + later));
  });

  test.each([1, 2, 3, 4])(
    "at %i of a group that shows all its five members reads none",
    async (at) => {
      const unread = createUnreadGroup();
      unread.like(...users(5));
      const read = await unread.read(at);
      expect(unread.takeQueries()).toEqual([]);
      const [seen, fresh] = [users(at), users(5 - at, at + 1)];
      expect(sizeOf(read)).toEqual([at, 1, at]);
      expect(shownMembers(read)).toEqual([seen.slice(0, 2), seen.toReversed().slice(0, 3)]);
      expect(sizeOf(unread.group)).toEqual([5 - at, at + 1, 5]);
      expect(shownMembers(unread.group)).toEqual([
        fresh.slice(0, 2),
        fresh.toReversed().slice(0, 3),
      ]);
    },
  );

  test("of a group without changes in the last second needs one query", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(200));
    unread.wait(1_000);
    await unread.read(150);
    expect(unread.takeQueries()).toEqual(["split"]);
    expect(sizeOf(unread.group)).toEqual([50, 151, 200]);
  });

  test("at a late version reads the recent members whole, at an early one it splits", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(200));
    const { after } = unread.group?.recent ?? {};
    expect(after).toBe(135);
    await unread.read(100);
    expect(unread.takeQueries()).toEqual(["split"]);
    await unread.read(130);
    expect(unread.takeQueries()).toEqual(["split"]);
    // The latest read members are older than the recent ones.
    await unread.read(137);
    expect(unread.takeQueries()).toEqual(["recent", "ends"]);
    await unread.read(199);
    expect(unread.takeQueries()).toEqual(["recent"]);
    await unread.read(200);
    expect(unread.takeQueries()).toEqual([]);
    expect(unread.history.map(({ actorCount }) => actorCount)).toEqual([100, 30, 7, 62, 1]);
  });

  test("keeps the count of an early version while people join, until one leaves", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(200));
    await unread.readWithoutCommit(60);
    expect(unread.takeQueries()).toEqual(["split"]);
    unread.like(...users(100, 201));
    await unread.readWithoutCommit(60);
    expect(unread.takeQueries()).toEqual([]);
    await unread.unlike("u50");
    unread.takeQueries();
    expect(sizeOf(await unread.read(60))).toEqual([59, 1, 60]);
    expect(unread.takeQueries()).toEqual(["split"]);
    expect(sizeOf(unread.group)).toEqual([240, 61, 300]);
  });

  test("finds the first unread members in the recent ones when the older have left", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(90));
    await unread.unlike(...users(90).slice(40, 89));
    expect(unread.group?.recent).toMatchObject({ after: 45, count: 1 });
    await unread.readWithoutCommit(40);
    unread.like(...users(50, 91));
    expect(sizeOf(await unread.read(40))).toEqual([40, 1, 40]);
    expect(shownMembers(unread.group)).toEqual([
      ["u90", "u91"],
      ["u140", "u139", "u138"],
    ]);
    expect(unread.inbox.actorCount).toBe(51);
  });

  test("keeps an unseen group in its place, and a seen one seen", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(9));
    await unread.read(3);
    expect(unread.inbox).toEqual(inboxWith(10, 1, 6, 9));
    unread.see(10);
    await unread.read(5);
    expect(unread.inbox).toEqual({ ...inboxWith(12, 1, 4), seenVersion: 10 });
  });

  test("after which no member that was seen is left changes nothing", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(6));
    await unread.unlike("u1", "u2", "u3");
    const { inbox, group } = unread;
    expect(await unread.read(3)).toBeUndefined();
    expect(unread.inbox).toEqual(inbox);
    expect(unread.group).toEqual(group);
  });

  test("splits a group after unlikes on both sides", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(12));
    await unread.unlike("u1", "u6", "u7", "u12");
    const read = await unread.read(6);
    expect(sizeOf(read)).toEqual([4, 2, 5]);
    expect(shownMembers(read)).toEqual([
      ["u2", "u3"],
      ["u5", "u4", "u3"],
    ]);
    expect(sizeOf(unread.group)).toEqual([4, 8, 11]);
    expect(shownMembers(unread.group)).toEqual([
      ["u8", "u9"],
      ["u11", "u10", "u9"],
    ]);
    expect(unread.inbox).toEqual(inboxWith(17, 1, 4, 11));
  });

  test("before the group's first version, or without a group, changes nothing", async () => {
    const unread = createUnreadGroup();
    expect(await unread.read(0)).toBeUndefined();
    unread.like("a");
    await unread.read(1);
    unread.like("b");
    const { inbox } = unread;
    expect(await unread.read(2)).toBeUndefined();
    expect(await unread.read(0)).toBeUndefined();
    expect(unread.inbox).toEqual(inbox);
    expect(unread.takeQueries()).toEqual([]);
  });

  test("beyond the inbox reads the whole group", async () => {
    const unread = createUnreadGroup();
    expect(await unread.read(1)).toBeUndefined();
    unread.like(...users(3));
    expect(sizeOf(await unread.read(1_000))).toEqual([3, 1, 3]);
    expect(unread.inbox).toEqual(inboxWith(4, 0, 0));
    // A reaction that comes later is unread.
    unread.like("u4");
    expect(sizeOf(unread.group)).toEqual([1, 5, 5]);
  });

  test("within a group is not decided without its split", () => {
    const unread = createUnreadGroup();
    unread.like(...users(200));
    const { inbox, group } = unread;
    expect(() => markRead({ inbox, group }, 100, { now: 20_000, keptMs })).toThrow("the split");
  });
});
