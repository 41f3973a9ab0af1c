import { describe, expect, test } from "vitest";
import { emptyInbox } from "../../src/domain/notification.ts";
import { react } from "../../src/domain/reaction.ts";
import { countOf, type Target } from "../../src/domain/target.ts";
import { createCrowd, named, people, post } from "../support/fixtures/crowd.ts";

const first = (target: Target, kind: string, name = "Ann") =>
  react(
    { target, inbox: emptyInbox, group: undefined, row: undefined },
    kind,
    { userId: "ann", actorName: name },
    5,
  );

describe("a reaction", () => {
  test("counts, takes a number and tells the owner", () => {
    expect(first(post, "like")).toEqual({
      target: { ...post, counts: { like: 1 } },
      inbox: { version: 1, groupCount: 1, peopleCount: 1 },
      group: {
        kind: "like",
        target: { type: "post", id: "1" },
        firstVersion: 1,
        version: 1,
        peopleCount: 1,
        firstActors: [{ userId: "ann", actorName: "Ann" }],
        latestActors: [{ userId: "ann", actorName: "Ann" }],
        createTime: 5,
        updateTime: 5,
      },
      row: {
        target: { type: "post", id: "1" },
        kind: "like",
        userId: "ann",
        actorName: "Ann",
        version: 1,
        notified: true,
        createTime: 5,
      },
    });
  });

  test("taken back leaves nothing but the number it took", () => {
    const crowd = createCrowd();
    crowd.like("a");
    crowd.unlike("a");
    expect(crowd.target.counts).toEqual({});
    expect(crowd.inbox).toEqual({ version: 2, groupCount: 0, peopleCount: 0 });
    expect(crowd.group).toBeUndefined();
    expect(crowd.asked).toBe(0);
  });

  test("liked, unliked and liked again counts once, in a group that was read as well", () => {
    const crowd = createCrowd();
    crowd.like("a", "b");
    crowd.unlike("a");
    crowd.like("a");
    expect(crowd.target.counts).toEqual({ like: 2 });
    expect(crowd.inbox).toEqual({ version: 4, groupCount: 1, peopleCount: 2 });
    expect(named(crowd.group)).toEqual([
      ["b", "a"],
      ["a", "b"],
    ]);
    crowd.read(4);
    crowd.unlike("a");
    expect(crowd.inbox).toEqual({ version: 6, groupCount: 0, peopleCount: 0 });
    crowd.like("a");
    expect(crowd.inbox).toEqual({ version: 7, groupCount: 1, peopleCount: 1 });
    expect(crowd.group).toMatchObject({ firstVersion: 7, version: 7, peopleCount: 1 });
    expect(crowd.target.counts).toEqual({ like: 2 });
  });

  test("of the owner is counted and not told", () => {
    const crowd = createCrowd();
    crowd.like("owner");
    expect(crowd.target.counts).toEqual({ like: 1 });
    expect(crowd.inbox).toEqual({ version: 1, groupCount: 0, peopleCount: 0 });
    crowd.like("a");
    crowd.unlike("owner");
    expect(crowd.inbox).toEqual({ version: 3, groupCount: 1, peopleCount: 1 });
    expect(named(crowd.group)).toEqual([["a"], ["a"]]);
  });

  test("to a muted target is not told; what is unread stays and is kept right", () => {
    const crowd = createCrowd();
    crowd.like("a", "b");
    crowd.mute(true);
    crowd.like("c");
    expect(crowd.inbox).toEqual({ version: 3, groupCount: 1, peopleCount: 2 });
    crowd.unlike("a");
    expect(crowd.inbox).toEqual({ version: 4, groupCount: 1, peopleCount: 1 });
    crowd.mute(false);
    crowd.like("d");
    // "c" reacted unseen and leaves unseen.
    crowd.unlike("c");
    expect(crowd.members).toEqual(["b", "d"]);
    expect(crowd.inbox).toEqual({ version: 6, groupCount: 1, peopleCount: 2 });
    expect(crowd.target.counts).toEqual({ like: 2 });
  });
});

describe("kinds", () => {
  const full = { ...post, counts: Object.fromEntries(people(16).map((kind) => [kind, 1])) };

  test("a seventeenth is refused, one more of the sixteenth is not", () => {
    expect(() => first(full, "like")).toThrow(
      expect.objectContaining({ reason: "LIMIT_EXCEEDED", metadata: { limit: "16" } }),
    );
    expect(countOf(first(full, "u16").target, "u16")).toBe(2);
  });

  test("one that nobody holds any more makes room", () => {
    const { u3: _, ...counts } = full.counts;
    expect(Object.keys(first({ ...full, counts }, "like").target.counts)).toHaveLength(16);
  });

  test("may be named like what every object has", () => {
    expect(first(post, "constructor").target.counts).toEqual({ constructor: 1 });
    expect(countOf(post, "constructor")).toBe(0);
  });
});

test.each([
  ["fits", "n".repeat(64), "n".repeat(64)],
  ["a byte too long", "n".repeat(65), "n".repeat(64)],
  ["three bytes a character", "巡".repeat(22), "巡".repeat(21)],
  ["four bytes a character, no half of one", `n${"😀".repeat(16)}`, `n${"😀".repeat(15)}`],
  ["nothing", "", ""],
])("names are cut to 64 bytes: %s", (_, given, kept) => {
  const { row, group } = first(post, "like", given);
  expect(row.actorName).toBe(kept);
  expect(group?.firstActors).toEqual([{ userId: "ann", actorName: kept }]);
});
