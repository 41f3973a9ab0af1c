/** Tests unread groups: the members that they show and count, and which queries that needs. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { badgeOf } from "../../../src/feed/rules/inbox.ts";
import type { Group, Member, UnreadGroup } from "../../../src/feed/rules/unread-group.ts";
import { appliedMs } from "../../../src/platform/ports/engine.ts";
import {
  createUnreadGroup,
  inboxWith,
  shownMembers,
  sizeOf,
  users,
} from "../../support/fixtures/unread-group-fixture.ts";

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
    expect(sizeOf(unread.group)).toEqual([count, 1, count]);
    expect(shownMembers(unread.group)).toEqual([first, latest]);
    expect(unread.inbox).toEqual(inboxWith(count, 1, count, count));
    expect(unread.takeQueries()).toEqual([]);
  });

  test.each(users(5))(
    "of five refills its names without a query when %s leaves",
    async (userId) => {
      const unread = createUnreadGroup();
      unread.like(...users(5));
      await unread.unlike(userId);
      const left = users(5).filter((each) => each !== userId);
      expect(unread.group).toMatchObject({ actorCount: 4, leaveCount: 1 });
      expect(shownMembers(unread.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
      expect(unread.takeQueries()).toEqual([]);
    },
  );

  test.each(users(9))("of nine names two first and three latest when %s leaves", async (userId) => {
    const unread = createUnreadGroup();
    unread.like(...users(9));
    await unread.unlike(userId);
    const left = users(9).filter((each) => each !== userId);
    expect(unread.group).toMatchObject({ actorCount: 8, leaveCount: 1 });
    expect(shownMembers(unread.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
    // The members in the middle are not shown.
    const isShown = !["u3", "u4", "u5", "u6"].includes(userId);
    expect(unread.takeQueries()).toEqual(isShown ? ["recent"] : []);
  });

  test.each([
    ["the first of", "u1", ["ends"]],
    ["a middle one of", "u100", []],
    ["the latest of", "u200", ["recent"]],
  ])(
    "reads no more than the ends and the recent members when %s 200 leaves",
    async (_, id, queries) => {
      const unread = createUnreadGroup();
      unread.like(...users(200));
      await unread.unlike(id);
      const left = users(200).filter((each) => each !== id);
      expect(shownMembers(unread.group)).toEqual([left.slice(0, 2), left.toReversed().slice(0, 3)]);
      expect(unread.takeQueries()).toEqual(queries);
    },
  );

  test("a member has an id, a name, a version and a time, and nothing else", async () => {
    const unread = createUnreadGroup();
    unread.like(...users(9));
    await unread.unlike("u1", "u9");
    const member = (n: number) => ({
      userId: `u${n}`,
      displayName: `u${n}!`,
      version: n,
      createTime: n,
    });
    expect(unread.group?.firstMembers).toEqual([member(2), member(3)]);
    expect(unread.group?.latestMembers).toEqual([member(8), member(7), member(6)]);
  });

  test("has the version of its latest member, which goes back when that one leaves", async () => {
    const unread = createUnreadGroup();
    unread.like("a", "b");
    unread.mute(true);
    unread.like("c");
    unread.mute(false);
    expect(sizeOf(unread.group)).toEqual([2, 1, 2]);
    await unread.unlike("b");
    expect(sizeOf(unread.group)).toEqual([1, 1, 1]);
    expect(unread.inbox).toEqual(inboxWith(4, 1, 1, 1));
  });
});

describe("the recent members", () => {
  const recentAt = (count: number, everyMs = 100) => {
    const unread = createUnreadGroup();
    for (const userId of users(count)) {
      unread.wait(everyMs);
      unread.like(userId);
    }
    return unread.group?.recent;
  };

  test.each([
    [1, { after: 0, count: 1, middle: 0, lateCount: 1 }],
    [44, { after: 0, count: 44, middle: 0, lateCount: 44 }],
    [45, { after: 0, count: 45, middle: 45, lateCount: 0 }],
    [89, { after: 0, count: 89, middle: 45, lateCount: 44 }],
    [90, { after: 45, count: 45, middle: 90, lateCount: 0 }],
    [135, { after: 90, count: 45, middle: 135, lateCount: 0 }],
  ])("of %i members are counted in steps of 45", (count, recent) => {
    expect(recentAt(count)).toMatchObject(recent);
  });

  test("are all that came within a second, because their rows may not be applied yet", () => {
    expect(recentAt(300, 1)).toMatchObject({ after: 0, count: 300 });
    expect(recentAt(1_001, 1)).toMatchObject({ after: 501, count: 500 });
    // One comes every 2 ms.
    expect(2 * (1_001 - 501)).toBeGreaterThanOrEqual(appliedMs);
  });

  test("of a large group are 45 to 89, unless they leave", async () => {
    const unread = createUnreadGroup();
    const counts = new Set<number>();
    unread.like(...users(44));
    for (const userId of users(400, 45)) {
      unread.wait(100);
      unread.like(userId);
      counts.add(unread.group?.recent.count as number);
    }
    expect([...counts].sort((a, b) => a - b)).toEqual(users(45).map((_, i) => 45 + i));
    await unread.unlike(...users(44, 401));
    expect(unread.group?.recent.count).toBeLessThan(45);
  });
});

/** A member as the naive model has it. */
type Naive = Pick<Member, "userId" | "version">;

const shown = (group: Group) => ({
  actorCount: group.actorCount,
  firstMembers: group.firstMembers.map(({ userId, version }) => ({ userId, version })),
  latestMembers: group.latestMembers.map(({ userId, version }) => ({ userId, version })),
});

const shownOf = (members: readonly Naive[]) => ({
  actorCount: members.length,
  firstMembers: members.slice(0, 2),
  latestMembers: members.toReversed().slice(0, 3),
});

/** Compares the counts of the recent members with the list. */
function checkRecent({ recent }: UnreadGroup, members: readonly Naive[]): void {
  const countAfter = (after: number) => members.filter(({ version }) => version > after).length;
  const { after, middle } = recent;
  expect(recent).toMatchObject({ count: countAfter(after), lateCount: countAfter(middle) });
  expect(recent.count).toBeLessThan(90);
}

/** A group with reactions, beside a naive list of its members. */
function createLife() {
  const unread = createUnreadGroup();
  let members: Naive[] = [];
  const readMembers: Naive[] = [];
  let seenVersion = 0;
  let next = 0;

  /** The version at a share of the versions from the first member to the inbox's. */
  const versionAt = (at: number) => {
    const from = (members[0]?.version ?? 0) - 1;
    return Math.max(0, from + Math.round(at * (unread.inbox.version - from + 1)));
  };
  const memberAt = (at: number) => members[Math.floor(at * (members.length - 1))];

  return {
    join(count: number) {
      for (let i = 0; i < count && members.length < 400; i++) {
        const userId = `u${next++}`;
        unread.wait(30);
        unread.like(userId);
        members.push({ userId, version: unread.inbox.version });
      }
    },
    async leave(at: number, count: number) {
      const from = Math.floor(at * (members.length - 1));
      for (const { userId } of members.slice(from, from + count)) {
        await unread.unlike(userId);
        members = members.filter((each) => each.userId !== userId);
      }
    },
    /** A member who was read leaves, which changes no unread group. */
    async leaveRead(at: number) {
      const [left] = readMembers.splice(Math.floor(at * (readMembers.length - 1)), 1);
      if (left) await unread.unlike(left.userId);
    },
    /** Leaves and comes back: to the own place, or, if that is no recent one, as the latest. */
    async rejoin(at: number) {
      const member = memberAt(at);
      if (!member) return;
      const { userId } = member;
      await unread.unlike(userId);
      const isRecent = member.version > (unread.group?.recent.after ?? 0);
      unread.like(userId);
      members = members.filter((each) => each !== member);
      members.push({ userId, version: isRecent ? member.version : unread.inbox.version });
      members.sort((a, b) => a.version - b.version);
    },
    joinUnnotified(count: number) {
      unread.mute(true);
      unread.like(...users(count, next));
      next += count;
      unread.mute(false);
    },
    /** Marks as read; if people `join` meanwhile, a first try is in vain. */
    async read(at: number, join = 0) {
      const version = Math.min(versionAt(at), unread.inbox.version);
      if (join > 0) await unread.readWithoutCommit(version);
      this.join(join);
      const read = await unread.read(version);
      const expected = members.filter((each) => each.version <= version);
      expect(read && shown(read)).toEqual(expected.length > 0 ? shownOf(expected) : undefined);
      members = members.filter((each) => each.version > version);
      readMembers.push(...expected);
    },
    see(at: number) {
      const version = Math.min(versionAt(at), unread.inbox.version);
      const isUnseen = (members.at(-1)?.version ?? 0) > seenVersion;
      unread.see(version);
      if (isUnseen) seenVersion = Math.max(seenVersion, version);
    },
    check() {
      const { group, inbox } = unread;
      const latest = members.at(-1)?.version ?? 0;
      expect(group && shown(group)).toEqual(members.length > 0 ? shownOf(members) : undefined);
      if (group) checkRecent(group, members);
      expect(badgeOf(inbox)).toMatchObject({
        notificationCount: members.length > 0 ? 1 : 0,
        actorCount: members.length,
        unseenNotificationCount: latest > seenVersion ? 1 : 0,
      });
      expect(inbox.unseen).toEqual(latest > seenVersion ? [latest] : []);
    },
  };
}

type Life = ReturnType<typeof createLife>;

describe("a random life of a group", () => {
  const share = fc.noBias(fc.integer({ min: 0, max: 1_000 })).map((at) => at / 1_000);
  const few = fc.integer({ min: 1, max: 4 });
  const many = fc.noBias(fc.integer({ min: 30, max: 150 }));
  /** More join than leave. */
  const joining = fc.oneof(few, many);
  const leaving = fc.oneof({ weight: 4, arbitrary: few }, { weight: 1, arbitrary: many });
  /** More often an early version than a late one, so that groups become large. */
  const early = share.map((at) => at ** 2);
  const ofShare = (act: (life: Life, at: number) => void | Promise<void>) =>
    share.map((at) => (life: Life) => act(life, at));
  const step = fc.oneof(
    { weight: 6, arbitrary: joining.map((count) => (life: Life) => life.join(count)) },
    {
      weight: 5,
      arbitrary: fc.tuple(fc.oneof(share, fc.constantFrom(0, 1)), leaving).map(
        ([at, count]) =>
          (life: Life) =>
            life.leave(at, count),
      ),
    },
    { weight: 2, arbitrary: ofShare((life, at) => life.rejoin(at)) },
    { weight: 1, arbitrary: ofShare((life, at) => life.leaveRead(at)) },
    { weight: 1, arbitrary: few.map((count) => (life: Life) => life.joinUnnotified(count)) },
    { weight: 2, arbitrary: early.map((at) => (life: Life) => life.read(at)) },
    {
      weight: 3,
      arbitrary: fc.tuple(share, many).map(
        ([at, count]) =>
          (life: Life) =>
            life.read(at, count),
      ),
    },
    { weight: 1, arbitrary: ofShare((life, at) => life.see(at)) },
  );

  test("shows and counts its members as a plain list does", async () => {
    const lives = fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 40 }),
      async (steps) => {
        const life = createLife();
        for (const act of steps) {
          await act(life);
          life.check();
        }
      },
    );
    await fc.assert(lives, { numRuns: 200 });
  });
});
