import { describe, expect, test } from "vitest";
import { checkVersion, textOf, withoutGroup } from "../../src/domain/notification.ts";
import { createCrowd, keptMs, named, people } from "../support/fixtures/crowd.ts";

describe("an unread group", () => {
  test.each([
    [1, ["u1"], ["u1"]],
    [2, ["u1", "u2"], ["u2", "u1"]],
    [3, ["u1", "u2"], ["u3", "u2", "u1"]],
    [5, ["u1", "u2"], ["u5", "u4", "u3"]],
    [9, ["u1", "u2"], ["u9", "u8", "u7"]],
  ])("of %i names two first and three latest", (count, first, latest) => {
    const crowd = createCrowd();
    crowd.like(...people(count));
    expect(crowd.group).toMatchObject({ peopleCount: count, firstVersion: 1, version: count });
    expect(named(crowd.group)).toEqual([first, latest]);
    expect(crowd.inbox).toEqual({ version: count, groupCount: 1, peopleCount: count });
    expect(crowd.asked).toBe(0);
  });

  test.each(people(5))("of five refills without a question when %s leaves", (userId) => {
    const crowd = createCrowd();
    crowd.like(...people(5));
    crowd.unlike(userId);
    const left = people(5).filter((each) => each !== userId);
    expect(crowd.group).toMatchObject({ peopleCount: 4, firstVersion: 1, version: 5 });
    expect(named(crowd.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
    expect(crowd.asked).toBe(0);
  });

  test.each(people(9))("of nine names two first and three latest when %s leaves", (userId) => {
    const crowd = createCrowd();
    crowd.like(...people(9));
    crowd.unlike(userId);
    const left = people(9).filter((each) => each !== userId);
    expect(crowd.group).toMatchObject({ peopleCount: 8, firstVersion: 1, version: 9 });
    expect(named(crowd.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
    // Those in the middle are not shown.
    const isShown = !["u3", "u4", "u5", "u6"].includes(userId);
    expect(crowd.asked).toBe(isShown ? 1 : 0);
  });

  test("names carry names, and nothing else of a reaction", () => {
    const crowd = createCrowd();
    crowd.like(...people(9));
    crowd.unlike("u1", "u9");
    expect(crowd.group?.firstActors[0]).toEqual({ userId: "u2", actorName: "u2!" });
    expect(crowd.group?.latestActors[0]).toEqual({ userId: "u8", actorName: "u8!" });
  });

  test.each([
    ["in the order they came", people(12)],
    ["in the other order", people(12).reverse()],
    [
      "from the middle",
      ["u6", "u7", "u5", "u8", "u4", "u9", "u3", "u1", "u12", "u2", "u11", "u10"],
    ],
  ])("is right at every size while all leave %s", (_, order) => {
    const crowd = createCrowd();
    crowd.like(...people(12));
    for (const userId of order) {
      crowd.unlike(userId);
      const left = crowd.members;
      expect(crowd.group?.peopleCount ?? 0).toBe(left.length);
      expect(named(crowd.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
      expect(crowd.inbox).toMatchObject({
        groupCount: left.length > 0 ? 1 : 0,
        peopleCount: left.length,
      });
    }
    expect(crowd.group).toBeUndefined();
  });
});

describe("a read mark", () => {
  test("at the latest number moves the group as it is", () => {
    const crowd = createCrowd();
    crowd.like(...people(9));
    const { group } = crowd;
    expect(crowd.read(9)).toEqual({ ...group, readTime: 10_000, expireTime: 10_000 + keptMs });
    expect(crowd.group).toBeUndefined();
    expect(crowd.inbox).toEqual({ version: 10, groupCount: 0, peopleCount: 0 });
    expect(crowd.asked).toBe(0);
  });

  test("beyond the latest number, after changes elsewhere", () => {
    const crowd = createCrowd();
    crowd.like("a", "owner", "b");
    crowd.unlike("owner");
    expect(crowd.read(4)).toMatchObject({ peopleCount: 2, firstVersion: 1, version: 3 });
    expect(crowd.inbox).toEqual({ version: 5, groupCount: 0, peopleCount: 0 });
  });

  test.each([
    [1, 9],
    [3, 3],
    [8, 1],
    [20, 20],
  ])("at %i splits off the %i who came later", (seen, later) => {
    const crowd = createCrowd();
    crowd.like(...people(seen));
    const before = crowd.group;
    crowd.like(...people(later, seen + 1));
    expect(crowd.read(seen)).toEqual({
      ...before,
      readTime: 10_000,
      expireTime: 10_000 + keptMs,
    });
    const fresh = people(later, seen + 1);
    expect(crowd.group).toMatchObject({
      firstVersion: seen + 1,
      version: seen + later,
      peopleCount: later,
      createTime: seen + 1,
      updateTime: seen + later,
    });
    expect(named(crowd.group)).toEqual([fresh.slice(0, 2), fresh.toReversed().slice(0, 3)]);
    expect(crowd.inbox).toEqual({ version: seen + later + 1, groupCount: 1, peopleCount: later });
    expect(crowd.members).toEqual(fresh);
  });

  test("that nobody of those seen is left to be read by changes nothing", () => {
    const crowd = createCrowd();
    crowd.like(...people(6));
    crowd.unlike("u1", "u2", "u3");
    const { inbox, group } = crowd;
    expect(crowd.read(3)).toBeUndefined();
    expect(crowd.inbox).toEqual(inbox);
    expect(crowd.group).toEqual(group);
  });

  test("with all newcomers gone again reads the whole group", () => {
    const crowd = createCrowd();
    crowd.like(...people(6));
    crowd.unlike("u5", "u6");
    expect(crowd.read(4)).toMatchObject({ peopleCount: 4, firstVersion: 1, version: 6 });
    expect(crowd.group).toBeUndefined();
    expect(crowd.inbox).toMatchObject({ groupCount: 0, peopleCount: 0 });
  });

  test("with some gone on both sides", () => {
    const crowd = createCrowd();
    crowd.like(...people(12));
    crowd.unlike("u1", "u6", "u7", "u12");
    const read = crowd.read(6);
    expect(read).toMatchObject({
      firstVersion: 1,
      version: 5,
      peopleCount: 4,
      createTime: 1,
      updateTime: 5,
    });
    expect(named(read)).toEqual([
      ["u2", "u3"],
      ["u5", "u4", "u3"],
    ]);
    expect(crowd.group).toMatchObject({
      firstVersion: 7,
      version: 12,
      peopleCount: 4,
      createTime: 8,
    });
    expect(named(crowd.group)).toEqual([
      ["u8", "u9"],
      ["u11", "u10", "u9"],
    ]);
    expect(crowd.inbox).toEqual({ version: 17, groupCount: 1, peopleCount: 4 });
  });

  test("passes over those who were not told of", () => {
    const crowd = createCrowd();
    crowd.like("a");
    crowd.mute(true);
    crowd.like(...people(5));
    crowd.mute(false);
    crowd.like("b", "owner", "c");
    const read = crowd.read(1);
    expect(read).toMatchObject({ peopleCount: 1, version: 1 });
    expect(crowd.group).toMatchObject({ firstVersion: 2, peopleCount: 2, createTime: 7 });
    expect(named(crowd.group)).toEqual([
      ["b", "c"],
      ["c", "b"],
    ]);
    // A version between: nobody came at it.
    expect(crowd.read(4)).toBeUndefined();
    expect(crowd.read(8)).toMatchObject({ peopleCount: 1, version: 7 });
    expect(named(crowd.group)).toEqual([["c"], ["c"]]);
  });

  test("before the group began, or where there is none, changes nothing", () => {
    const crowd = createCrowd();
    expect(crowd.read(0)).toBeUndefined();
    crowd.like("a");
    crowd.read(1);
    crowd.like("b");
    const { inbox } = crowd;
    expect(crowd.read(2)).toBeUndefined();
    expect(crowd.read(0)).toBeUndefined();
    expect(crowd.inbox).toEqual(inbox);
    expect(crowd.asked).toBe(0);
  });

  test("of a version that is yet to come is refused, group or none", () => {
    const crowd = createCrowd();
    const tooEarly = expect.objectContaining({ reason: "INVALID_REQUEST" });
    expect(() => crowd.read(1)).toThrow(tooEarly);
    crowd.like(...people(3));
    expect(() => crowd.read(4)).toThrow(tooEarly);
    expect(() => checkVersion(crowd.inbox, 4)).toThrow(tooEarly);
    checkVersion(crowd.inbox, 3);
  });

  test("again and again loses and doubles nobody", () => {
    const crowd = createCrowd();
    crowd.like(...people(10));
    for (const version of [2, 5, 9, 10]) crowd.read(version);
    expect(crowd.history.map(({ firstVersion, version }) => [firstVersion, version])).toEqual([
      [1, 2],
      [3, 5],
      [6, 9],
      [10, 10],
    ]);
    expect(crowd.history.map((group) => group.peopleCount)).toEqual([2, 3, 4, 1]);
    expect(crowd.inbox).toEqual({ version: 14, groupCount: 0, peopleCount: 0 });
  });
});

test("a group that is removed takes its people with it", () => {
  const crowd = createCrowd();
  crowd.like(...people(3));
  const { group } = crowd;
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
])("the text for %i names one or two, or one and the others", (count, names, others) => {
  const crowd = createCrowd();
  crowd.like(...people(count));
  if (!crowd.group) throw new Error("there is no group");
  expect(textOf(crowd.group)).toEqual({ names, otherCount: others });
});
