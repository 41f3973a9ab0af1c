/** Tests reactions: what they count, when they notify the owner, and the limit of kinds. */
import { describe, expect, test } from "vitest";
import { emptyInbox } from "../../src/domain/notification.ts";
import { react } from "../../src/domain/reaction.ts";
import { countOf, type Target } from "../../src/domain/target.ts";
import {
  createUnreadGroup,
  post,
  shownActors,
  users,
} from "../support/fixtures/unread-group-fixture.ts";

const first = (target: Target, kind: string, name = "Ann") =>
  react(
    { target, inbox: emptyInbox, group: undefined, row: undefined },
    kind,
    { userId: "ann", actorName: name },
    5,
  );

describe("a reaction", () => {
  test("counts, takes a version and notifies the owner", () => {
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

  test("taken back leaves nothing but the version that it took", () => {
    const unread = createUnreadGroup();
    unread.like("a");
    unread.unlike("a");
    expect(unread.target.counts).toEqual({});
    expect(unread.inbox).toEqual({ version: 2, groupCount: 0, peopleCount: 0 });
    expect(unread.group).toBeUndefined();
    expect(unread.takeQueryCount()).toBe(0);
  });

  test("liked, unliked and liked again counts once, also after a mark-read", () => {
    const unread = createUnreadGroup();
    unread.like("a", "b");
    unread.unlike("a");
    unread.like("a");
    expect(unread.target.counts).toEqual({ like: 2 });
    expect(unread.inbox).toEqual({ version: 4, groupCount: 1, peopleCount: 2 });
    expect(shownActors(unread.group)).toEqual([
      ["b", "a"],
      ["a", "b"],
    ]);
    unread.read(4);
    unread.unlike("a");
    expect(unread.inbox).toEqual({ version: 6, groupCount: 0, peopleCount: 0 });
    unread.like("a");
    expect(unread.inbox).toEqual({ version: 7, groupCount: 1, peopleCount: 1 });
    expect(unread.group).toMatchObject({ firstVersion: 7, version: 7, peopleCount: 1 });
    expect(unread.target.counts).toEqual({ like: 2 });
  });

  test("of the owner is counted and does not notify", () => {
    const unread = createUnreadGroup();
    unread.like("owner");
    expect(unread.target.counts).toEqual({ like: 1 });
    expect(unread.inbox).toEqual({ version: 1, groupCount: 0, peopleCount: 0 });
    unread.like("a");
    unread.unlike("owner");
    expect(unread.inbox).toEqual({ version: 3, groupCount: 1, peopleCount: 1 });
    expect(shownActors(unread.group)).toEqual([["a"], ["a"]]);
  });

  test("to a muted target does not notify; the unread group stays and is kept right", () => {
    const unread = createUnreadGroup();
    unread.like("a", "b");
    unread.mute(true);
    unread.like("c");
    expect(unread.inbox).toEqual({ version: 3, groupCount: 1, peopleCount: 2 });
    unread.unlike("a");
    expect(unread.inbox).toEqual({ version: 4, groupCount: 1, peopleCount: 1 });
    unread.mute(false);
    unread.like("d");
    // "c" is not in the group, so its unlike does not change it.
    unread.unlike("c");
    expect(unread.members).toEqual(["b", "d"]);
    expect(unread.inbox).toEqual({ version: 6, groupCount: 1, peopleCount: 2 });
    expect(unread.target.counts).toEqual({ like: 2 });
  });
});

describe("kinds", () => {
  const full = { ...post, counts: Object.fromEntries(users(16).map((kind) => [kind, 1])) };

  test("a seventeenth kind is refused, one more reaction of the sixteenth is not", () => {
    expect(() => first(full, "like")).toThrow(
      expect.objectContaining({ reason: "LIMIT_EXCEEDED", metadata: { limit: "16" } }),
    );
    expect(countOf(first(full, "u16").target, "u16")).toBe(2);
  });

  test("a kind without reactions any more makes room", () => {
    const { u3: _, ...counts } = full.counts;
    expect(Object.keys(first({ ...full, counts }, "like").target.counts)).toHaveLength(16);
  });

  test("may be named like a property of every object", () => {
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
