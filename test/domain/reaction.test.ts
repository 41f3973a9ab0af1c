/** Tests reactions: what they count, when they notify the owner, cool-downs, and kinds. */
import { describe, expect, test } from "vitest";
import { badgeOf, emptyInbox, type Inbox, type Preferences } from "../../src/domain/inbox.ts";
import { type ReactionState, react, withdraw } from "../../src/domain/reaction.ts";
import { countOf, type Target } from "../../src/domain/target.ts";
import {
  createUnreadGroup,
  inboxWith,
  post,
  shownMembers,
  sizeOf,
  users,
} from "../support/fixtures/unread-group-fixture.ts";

const first = (target: Target, kind: string, name = "Ann") =>
  react({ target, inbox: emptyInbox, group: undefined, reaction: undefined }, kind, {
    actor: { userId: "ann", displayName: name },
    now: 5,
    silent: false,
  });

describe("a reaction", () => {
  test("counts, takes a version and notifies the owner", () => {
    const ann = { userId: "ann", displayName: "Ann", version: 1, createTime: 5 };
    expect(first(post, "like")).toEqual({
      target: { ...post, counts: { like: 1 } },
      inbox: inboxWith(1, 1, 1, 1),
      group: {
        kind: "like",
        target: { type: "post", id: "1" },
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

  test("taken back leaves nothing but the version that it took", async () => {
    const unread = createUnreadGroup();
    unread.like("a");
    await unread.unlike("a");
    expect(unread.target.counts).toEqual({});
    expect(unread.inbox).toEqual(inboxWith(2, 0, 0));
    expect(unread.group).toBeUndefined();
    expect(unread.takeQueries()).toEqual([]);
  });

  test("liked, unliked and liked again counts once, also after a mark-read", async () => {
    const unread = createUnreadGroup();
    unread.like("a", "b");
    await unread.unlike("a");
    unread.like("a");
    expect(unread.target.counts).toEqual({ like: 2 });
    expect(unread.inbox).toEqual(inboxWith(4, 1, 2, 4));
    expect(shownMembers(unread.group)).toEqual([
      ["b", "a"],
      ["a", "b"],
    ]);
    await unread.read(4);
    await unread.unlike("a");
    expect(unread.inbox).toEqual(inboxWith(6, 0, 0));
    unread.like("a");
    expect(unread.inbox).toEqual(inboxWith(7, 1, 1, 7));
    expect(sizeOf(unread.group)).toEqual([1, 7, 7]);
    expect(unread.target.counts).toEqual({ like: 2 });
  });

  test("of the owner is counted and does not notify", async () => {
    const unread = createUnreadGroup();
    unread.like("owner");
    expect(unread.target.counts).toEqual({ like: 1 });
    expect(unread.inbox).toEqual(inboxWith(1, 0, 0));
    unread.like("a");
    await unread.unlike("owner");
    expect(unread.inbox).toEqual(inboxWith(3, 1, 1, 2));
    expect(shownMembers(unread.group)).toEqual([["a"], ["a"]]);
  });

  test("to a muted target does not notify; the unread group stays and is kept right", async () => {
    const unread = createUnreadGroup();
    unread.like("a", "b");
    unread.mute(true);
    unread.like("c");
    expect(unread.inbox).toEqual(inboxWith(3, 1, 2, 2));
    await unread.unlike("a");
    expect(unread.inbox).toEqual(inboxWith(4, 1, 1, 2));
    unread.mute(false);
    unread.like("d");
    // "c" is not in the group, so its unlike does not change it.
    await unread.unlike("c");
    expect(sizeOf(unread.group)).toEqual([2, 2, 5]);
    expect(unread.inbox).toEqual(inboxWith(6, 1, 2, 5));
    expect(unread.target.counts).toEqual({ like: 2 });
  });
});

describe("an owner is not notified of a reaction", () => {
  const actor = { userId: "ann", displayName: "Ann" };
  const state = { target: post, inbox: emptyInbox, group: undefined, reaction: undefined };
  const muting = (preferences: Partial<Preferences>): Inbox => ({
    ...emptyInbox,
    preferences: { ...emptyInbox.preferences, ...preferences },
  });

  test.each<[string, Partial<ReactionState>, string, boolean, boolean]>([
    ["that is not silent", {}, "like", false, true],
    ["that is silent", {}, "like", true, false],
    ["to a muted target", { target: { ...post, muted: true } }, "like", false, false],
    ["while all is muted", { inbox: muting({ allMuted: true }) }, "like", false, false],
    ["of a muted kind", { inbox: muting({ mutedKinds: ["like"] }) }, "like", false, false],
    ["of another kind", { inbox: muting({ mutedKinds: ["like"] }) }, "wow", false, true],
    ["event of a muted kind", { inbox: muting({ mutedKinds: ["join"] }) }, "~join", false, false],
    ["event of another kind", { inbox: muting({ mutedKinds: ["join"] }) }, "~like", false, true],
  ])("%s", (_, changed, kind, silent, notified) => {
    const after = react({ ...state, ...changed }, kind, { actor, now: 5, silent });
    expect(after.reaction).toMatchObject({ notified, version: 1 });
    expect(after.target.counts).toEqual({ [kind]: 1 });
    expect(after.group?.actorCount).toBe(notified ? 1 : undefined);
    expect(badgeOf(after.inbox)).toEqual(
      notified
        ? { notificationCount: 1, actorCount: 1, unseenNotificationCount: 1 }
        : { notificationCount: 0, actorCount: 0, unseenNotificationCount: 0 },
    );
    expect(after.inbox.version).toBe(1);
  });
});

describe("a cool-down", () => {
  const coolDownMs = 1_000;

  test("begins with a reaction that was read, when it is taken back", async () => {
    const unread = createUnreadGroup(coolDownMs);
    unread.like("a");
    await unread.read(1);
    await unread.unlike("a");
    expect(unread.reactionOf("a")).toEqual({ quietUntil: 1 + coolDownMs });
    expect(unread.target.counts).toEqual({});
    unread.like("a");
    expect(unread.target.counts).toEqual({ like: 1 });
    expect(unread.group).toBeUndefined();
    expect(unread.inbox).toEqual(inboxWith(4, 0, 0));
    expect(unread.reactionOf("a")).toMatchObject({ notified: false, quietUntil: 1 + coolDownMs });
  });

  test("lasts from the reaction that was read on, however often it is repeated", async () => {
    const unread = createUnreadGroup(coolDownMs);
    unread.like("a");
    await unread.read(1);
    for (let i = 0; i < 3; i++) {
      await unread.unlike("a");
      expect(unread.reactionOf("a")).toEqual({ quietUntil: 1 + coolDownMs });
      unread.wait(100);
      unread.like("a");
      expect(unread.group).toBeUndefined();
    }
    unread.wait(coolDownMs);
    await unread.unlike("a");
    expect(unread.reactionOf("a")).toBeUndefined();
    unread.like("a");
    expect(unread.group?.actorCount).toBe(1);
    expect(unread.reactionOf("a")).not.toHaveProperty("quietUntil");
  });

  test("is over before its record is deleted", async () => {
    const unread = createUnreadGroup(coolDownMs);
    unread.like("a");
    await unread.read(1);
    await unread.unlike("a");
    unread.wait(coolDownMs);
    unread.like("a");
    expect(unread.group?.actorCount).toBe(1);
    expect(unread.reactionOf("a")).not.toHaveProperty("quietUntil");
  });

  test("does not begin with a reaction that is unread, or that notified nobody", async () => {
    const unread = createUnreadGroup(coolDownMs);
    unread.like("a", "owner");
    await unread.unlike("a", "owner");
    expect([unread.reactionOf("a"), unread.reactionOf("owner")]).toEqual([undefined, undefined]);
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

  test("does not begin with an event", () => {
    const state = { target: post, inbox: emptyInbox, group: undefined, reaction: undefined };
    const actor = { userId: "ann", displayName: "Ann" };
    const { reaction, ...after } = react(state, "~comment", { actor, now: 5, silent: false });
    const read = { ...after, group: undefined, reaction };
    const times = { now: 6, coolDownMs };
    expect(withdraw(read, reaction, times).reaction).toBeUndefined();
    const like = { ...reaction, kind: "like" };
    expect(withdraw(read, like, times).reaction).toEqual({ quietUntil: 5 + coolDownMs });
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
  ["25 bytes a family, no part of one", "👨‍👩‍👧‍👦".repeat(3), "👨‍👩‍👧‍👦".repeat(2)],
  ["nothing", "", ""],
])("names are cut to 64 bytes: %s", (_, given, kept) => {
  const { reaction, group } = first(post, "like", given);
  expect(reaction.displayName).toBe(kept);
  expect(group?.firstMembers).toMatchObject([{ userId: "ann", displayName: kept }]);
});
