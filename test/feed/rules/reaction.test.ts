/** Tests reactions: what they count, when they notify the owner, cool-downs, and kinds. */
import { describe, expect, test } from "vitest";
import {
  badgeOf,
  emptyInbox,
  type Inbox,
  type Preferences,
} from "../../../src/feed/rules/inbox.ts";
import { countOf, formerReactionMs, react } from "../../../src/feed/rules/reaction.ts";
import type { Target } from "../../../src/feed/rules/target.ts";
import {
  createUnreadGroup,
  inboxWith,
  post,
  shownMembers,
  sizeOf,
  users,
} from "../../support/fixtures/unread-group-fixture.ts";

const first = (target: Target, kind: string, name = "Ann") =>
  react({ target, inbox: emptyInbox, group: undefined, reaction: undefined }, kind, {
    actor: { userId: "ann", displayName: name },
    now: 5,
    silent: false,
    coolDownMs: 0,
  });

describe("a reaction", () => {
  test("counts, takes a version and notifies the owner", () => {
    const ann = { userId: "ann", displayName: "Ann", version: 1, createTime: 5 };
    expect(first(post, "like")).toEqual({
      target: {
        ...post,
        counts: { like: 1 },
        latest: { time: 5, byKind: { like: [{ userId: "ann", version: 1 }] } },
      },
      inbox: inboxWith(1, 1, 1, 1),
      group: {
        kind: "like",
        target: { type: "post", id: "1" },
        generation: 1,
        memberCount: 1,
        actorCount: 1,
        firstMembers: [ann],
        latestMembers: [ann],
        leaveCount: 0,
        leaveTime: 0,
        recent: { after: 0, count: 1, middle: 0, lateCount: 1, middleTime: 5 },
      },
      reaction: {
        target: { type: "post", id: "1" },
        kind: "like",
        userId: "ann",
        displayName: "Ann",
        version: 1,
        notified: true,
        createTime: 5,
      },
    });
  });

  test("taken back leaves nothing but its position and the version that it took", async () => {
    const unread = createUnreadGroup();
    unread.like("a");
    await unread.unlike("a");
    expect(unread.target.counts).toEqual({});
    expect(unread.inbox).toEqual(inboxWith(2, 0, 0));
    expect(unread.group).toBeUndefined();
    const position = { version: 1, generation: 1 };
    expect(unread.reactionOf("a")).toEqual({
      position,
      createTime: 1,
      expireTime: 2 + formerReactionMs,
    });
    expect(unread.takeQueries()).toEqual([]);
  });

  test("liked, unliked and liked again counts once, also after a mark-read", async () => {
    const unread = createUnreadGroup();
    unread.like("a", "b");
    await unread.unlike("a");
    unread.like("a");
    expect(unread.target.counts).toEqual({ like: 2 });
    expect(unread.inbox).toEqual(inboxWith(4, 1, 2, 2));
    expect(shownMembers(unread.group)).toEqual([
      ["a", "b"],
      ["b", "a"],
    ]);
    await unread.read(4);
    await unread.unlike("a");
    expect(unread.inbox).toEqual({ ...inboxWith(6, 0, 0), changeVersion: 5 });
    unread.like("a");
    expect(unread.inbox).toEqual(inboxWith(7, 1, 1, 7));
    expect(sizeOf(unread.group)).toEqual([1, 7, 7]);
    expect(unread.target.counts).toEqual({ like: 2 });
  });

  test("of the owner is counted and does not notify", async () => {
    const unread = createUnreadGroup();
    unread.like("owner");
    expect(unread.target.counts).toEqual({ like: 1 });
    expect(unread.inbox).toEqual({ ...inboxWith(1, 0, 0), changeVersion: 0 });
    unread.like("a");
    await unread.unlike("owner");
    expect(unread.inbox).toEqual({ ...inboxWith(3, 1, 1, 2), changeVersion: 2 });
    expect(shownMembers(unread.group)).toEqual([["a"], ["a"]]);
  });

  test("to a muted target does not notify; the unread group stays and is kept right", async () => {
    const unread = createUnreadGroup();
    unread.like("a", "b");
    unread.mute(true);
    unread.like("c");
    expect(unread.inbox).toEqual({ ...inboxWith(3, 1, 2, 2), changeVersion: 2 });
    await unread.unlike("a");
    expect(unread.inbox).toEqual(inboxWith(4, 1, 1, 2));
    unread.mute(false);
    unread.like("d");
    // "c" is not in the group, so its unlike does not change it.
    await unread.unlike("c");
    expect(sizeOf(unread.group)).toEqual([2, 2, 5]);
    expect(unread.inbox).toEqual({ ...inboxWith(6, 1, 2, 5), changeVersion: 5 });
    expect(unread.target.counts).toEqual({ like: 2 });
  });
});

describe("an owner is not notified of a reaction", () => {
  const actor = { userId: "ann", displayName: "Ann" };
  const muting = (preferences: Partial<Preferences>): Inbox => ({
    ...emptyInbox,
    preferences: { ...emptyInbox.preferences, ...preferences },
  });

  interface More {
    readonly target?: Target;
    readonly silent?: boolean;
  }
  test.each<[string, Partial<Preferences>, string, boolean, More?]>([
    ["while nothing is muted", {}, "like", true],
    ["that is silent", {}, "like", false, { silent: true }],
    ["to a muted target", {}, "like", false, { target: { ...post, muted: true } }],
    ["while all is muted", { allMuted: true }, "like", false],
    ["of a muted kind", { mutedKinds: ["like"] }, "like", false],
    ["of another kind", { mutedKinds: ["like"] }, "wow", true],
    ["event of a muted kind", { mutedEventKinds: ["join"] }, "~join", false],
    ["event of another kind", { mutedEventKinds: ["join"] }, "~like", true],
    ["event, of a muted kind of reactions", { mutedKinds: ["join"] }, "~join", true],
    ["of a muted kind of events", { mutedEventKinds: ["like"] }, "like", true],
  ])("%s", (_, preferences, kind, notified, { target = post, silent = false } = {}) => {
    const state = { target, inbox: muting(preferences), group: undefined, reaction: undefined };
    const after = react(state, kind, { actor, now: 5, silent, coolDownMs: 0 });
    expect(after.reaction).toMatchObject({ notified, version: 1 });
    expect(after.target.counts).toEqual({ [kind]: 1 });
    expect(after.group?.actorCount).toBe(notified ? 1 : undefined);
    expect(badgeOf(after.inbox)).toEqual(
      notified
        ? {
            notificationCount: 1,
            actorCount: 1,
            unseenNotificationCount: 1,
            kindCounts: { [kind]: 1 },
          }
        : { notificationCount: 0, actorCount: 0, unseenNotificationCount: 0, kindCounts: {} },
    );
    expect(after.inbox.version).toBe(1);
  });
});

describe("a cool-down", () => {
  const coolDownMs = 1_000;

  test("begins when the owner reads a reaction, however old that is", async () => {
    const unread = createUnreadGroup(coolDownMs);
    unread.like("a");
    unread.wait(10 * coolDownMs);
    await unread.read(1);
    const readTime = unread.history[0]?.readTime as number;
    await unread.unlike("a");
    expect(unread.reactionOf("a")).toEqual({
      readTime,
      createTime: 1,
      expireTime: readTime + formerReactionMs,
    });
    unread.wait(coolDownMs / 2);
    unread.like("a");
    expect(unread.target.counts).toEqual({ like: 1 });
    expect(unread.group).toBeUndefined();
    expect(unread.inbox).toEqual({ ...inboxWith(4, 0, 0), changeVersion: 2 });
    expect(unread.reactionOf("a")).toMatchObject({ notified: false, readTime });
  });

  test("lasts from the read on, however often the reaction is repeated", async () => {
    const unread = createUnreadGroup(coolDownMs);
    unread.like("a");
    await unread.read(1);
    const readTime = unread.history[0]?.readTime as number;
    for (let i = 0; i < 3; i++) {
      await unread.unlike("a");
      expect(unread.reactionOf("a")).toMatchObject({ readTime });
      unread.wait(100);
      unread.like("a");
      expect(unread.group).toBeUndefined();
    }
    unread.wait(coolDownMs);
    await unread.unlike("a");
    unread.like("a");
    expect(unread.group?.actorCount).toBe(1);
  });

  test("is none where a call has none, nor after a month", async () => {
    const none = createUnreadGroup(0);
    none.like("a");
    await none.read(1);
    await none.unlike("a");
    none.like("a");
    expect(none.group?.actorCount).toBe(1);
    const long = createUnreadGroup(formerReactionMs);
    long.like("a");
    await long.read(1);
    long.wait(formerReactionMs);
    await long.unlike("a");
    expect(long.reactionOf("a")).toBeUndefined();
  });

  test("is none where a call has none, by a clock that is behind that of the read, too", () => {
    const reaction = { readTime: 6, createTime: 4, expireTime: 6 + formerReactionMs };
    const read = { target: post, inbox: emptyInbox, group: undefined, reaction };
    const at5 = { actor: { userId: "a", displayName: "A" }, now: 5, silent: false };
    expect(react(read, "like", { ...at5, coolDownMs: 0 }).reaction.notified).toBe(true);
    expect(react(read, "like", { ...at5, coolDownMs: 1 }).reaction.notified).toBe(false);
  });

  test("does not begin with a reaction that is unread, or that notified nobody", async () => {
    const unread = createUnreadGroup(coolDownMs);
    unread.like("a", "owner");
    await unread.unlike("a", "owner");
    expect(unread.reactionOf("a")).not.toHaveProperty("readTime");
    expect(unread.reactionOf("owner")).toBeUndefined();
    unread.like("a");
    expect(unread.group?.actorCount).toBe(1);
  });

  test("of one person does not keep another one out", async () => {
    const unread = createUnreadGroup(coolDownMs);
    unread.like("a");
    await unread.read(1);
    await unread.unlike("a");
    unread.like("a", "b");
    expect(shownMembers(unread.group)).toEqual([["b"], ["b"]]);
  });
});

describe("a reaction that is taken back and repeated", () => {
  test("comes back to its position, so that order, version and seen stay", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(6));
    unread.see(6);
    await unread.unlike("u2", "u6");
    unread.like("u6", "u2");
    expect(sizeOf(unread.group)).toEqual([6, 1, 6]);
    expect(shownMembers(unread.group)).toEqual([
      ["u1", "u2"],
      ["u6", "u5", "u4"],
    ]);
    expect(unread.inbox).toEqual({ ...inboxWith(11, 1, 6), seenVersion: 6 });
  });

  test("begins an emptied group anew, with its name, unless somebody else has", async () => {
    const unread = createUnreadGroup();
    unread.like("a", "b");
    await unread.unlike("a", "b");
    unread.like("b");
    expect(unread.group).toMatchObject({ generation: 1, memberCount: 1 });
    unread.like("a");
    expect(sizeOf(unread.group)).toEqual([2, 1, 2]);
    await unread.unlike("a", "b");
    unread.like("c");
    unread.like("a");
    expect(sizeOf(unread.group)).toEqual([2, 9, 10]);
  });

  test("is a new member of what is left unread by a mark, or begun after it", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(4));
    await unread.unlike("u1", "u4");
    await unread.read(2);
    unread.like("u1");
    expect(sizeOf(unread.group)).toEqual([2, 3, 8]);
    unread.like("u4");
    expect(sizeOf(unread.group)).toEqual([3, 3, 8]);
    expect(unread.group?.generation).toBe(3);
    await unread.unlike("u4");
    await unread.read(9);
    unread.like("u4");
    expect(unread.group).toMatchObject({ generation: 12, memberCount: 1 });
  });

  test("is a new member of a large group, unless it is a recent one", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(100));
    await unread.unlike("u1", "u99");
    unread.like("u99", "u1");
    expect(sizeOf(unread.group)).toEqual([100, 2, 104]);
  });
});

describe("kinds", () => {
  const full = { ...post, counts: Object.fromEntries(users(32).map((kind) => [kind, 1])) };

  test("a 33rd kind is refused, one more reaction of the 32nd is not", () => {
    expect(() => first(full, "like")).toThrow(
      expect.objectContaining({ reason: "LIMIT_EXCEEDED", metadata: { limit: "32" } }),
    );
    expect(countOf(first(full, "u32").target, "u32")).toBe(2);
  });

  test("a kind without reactions any more makes room", () => {
    const { u3: _, ...counts } = full.counts;
    expect(Object.keys(first({ ...full, counts }, "like").target.counts)).toHaveLength(32);
  });

  test("may be named like a property of every object", () => {
    expect(first(post, "constructor").target.counts).toEqual({ constructor: 1 });
    expect(countOf(post, "constructor")).toBe(0);
  });
});
