/**
 * Tests which members a lookup accepts as those of a group. What it reads, and when, is tested with
 * the rules of groups, in test/feed/rules.
 */
import { describe, expect, test } from "vitest";
import { reactionRef, readGroupRef, unreadGroupRef } from "../../../src/feed/ports/records.ts";
import type { Reaction } from "../../../src/feed/rules/target.ts";
import {
  join,
  type Member,
  type ReadGroup,
  type UnreadGroup,
} from "../../../src/feed/rules/unread-group.ts";
import type { CountedSplit, MemberQueries } from "../../../src/feed/store/group-members.ts";
import { lookUpRefill, lookUpSplit } from "../../../src/feed/store/member-lookups.ts";
import { post } from "../../support/fixtures/unread-group-fixture.ts";

const ref = unreadGroupRef("owner", post, "like");
const readRef = readGroupRef("owner", post, "like", 1);
const recordOf = (version: number): Reaction => ({
  target: { type: post.type, id: post.id },
  kind: "like",
  userId: `u${version}`,
  displayName: "",
  version,
  notified: true,
  createTime: 100 * version,
});

/** The records of the versions from `from` to `to`. */
const records = (from: number, to: number): Reaction[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => recordOf(from + i));
const groupOf = (count: number, change: Partial<UnreadGroup> = {}): UnreadGroup => ({
  ...(records(1, count).reduce<UnreadGroup | undefined>(join, undefined) as UnreadGroup),
  ...change,
});

/** Queries whose answers a test replaces; by default all members are there. */
const reading = (count: number, change: Partial<MemberQueries> = {}): MemberQueries => ({
  membersAfter: async (_, after, limit) => records(after + 1, count).slice(0, limit),
  memberEnds: async (_, from, to) => ({
    first: records(from, to).slice(0, 3),
    latest: records(from, to).toReversed().slice(0, 4),
  }),
  splitMembers: async (_, { from, at, to }, total) => ({
    count: at - from + 1,
    ...(total === undefined && { restCount: to - at }),
    first: records(at + 1, to).slice(0, 3),
    latest: records(from, at).toReversed().slice(0, 4),
  }),
  countEvents: () => Promise.reject(new Error("these are reactions")),
  ...change,
});

const count = 200;
/** Right after the last member has joined, and when every transaction is applied. */
const busy = 100 * count;
const calm = busy + 1_000;
const left = { leaveCount: 1, leaveTime: busy - 999 };

const split = (
  version: number,
  now: number,
  found: Partial<MemberQueries> = {},
  change: Partial<UnreadGroup> = {},
) => {
  const group = groupOf(count, change);
  return lookUpSplit({ queries: reading(count, found), ref, group, now }, version);
};

describe("a split", () => {
  test.each([
    ["of a calm group", 150, calm, false],
    ["at an early version", 100, busy, true],
    ["at a recent version", 190, busy, false],
    ["between the older and the recent members", 136, busy, false],
  ])("%s names and counts both sides; whether it outlasts a join", async (_, at, now, lasts) => {
    const lookup = split(at, now);
    const found = await lookup.read();
    expect(found?.result).toMatchObject({ readCount: at, lasts, version: count });
    expect(found?.result.latestRead.slice(0, 3)).toEqual(records(at - 2, at).toReversed());
    expect(found?.result.firstUnread.slice(0, 2)).toEqual(records(at + 1, at + 2));
    expect(found?.unchanged).toEqual([]);
    const later = { ...groupOf(count + 1), leaveCount: 0 };
    const next = lookUpSplit({ queries: reading(count + 1), ref, group: later, now }, at);
    expect(next.name).toBe(lookup.name);
    expect(next.holds(found?.result as never)).toBe(lasts);
    expect(lookup.holds(found?.result as never)).toBe(true);
  });

  test("has a name of its own after somebody has left, after a mark and in another group", () => {
    const later = unreadGroupRef("owner", post, "love");
    const group = groupOf(count);
    const [queries, now] = [reading(count), busy];
    const names = [
      lookUpSplit({ queries, ref, group, now }, 100),
      lookUpSplit({ queries, ref, group, now }, 101),
      lookUpSplit({ queries, ref: later, group, now }, 100),
      lookUpSplit({ queries, ref, group: { ...group, ...left }, now }, 100),
      lookUpSplit({ queries, ref, group: { ...group, generation: 9 }, now }, 100),
      lookUpRefill({ queries, ref, group, now }, 1),
      lookUpRefill({ queries, ref, group, now }, count),
    ].map((lookup) => lookup?.name);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each<[string, number, number, Partial<MemberQueries>]>([
    ["no first unread member", 100, calm, splits({ first: [] })],
    ["one first unread member of many", 100, calm, splits({ first: [recordOf(101)] })],
    ["no latest read member", 100, calm, splits({ latest: [] })],
    ["too few recent members", 190, busy, { membersAfter: async () => records(137, count) }],
    ["too many recent members", 190, busy, { membersAfter: async () => records(135, count) }],
    ["no older members", 136, busy, { memberEnds: async () => ({ first: [], latest: [] }) }],
  ])("is read again when the store finds %s", async (_, at, now, found) => {
    expect(await split(at, now, found).read()).toBeUndefined();
    expect(await split(at, now).read()).toBeDefined();
  });

  test("after a leave counts both sides, which add up, and names what was seen", async () => {
    const group = groupOf(count, left);
    const early = await split(100, busy, {}, left).read();
    expect(early?.result.readCount).toBe(100);
    const { after, middle } = group.recent;
    const seen = [...records(101, 103), ...records(97, 100).toReversed()];
    expect(early?.unchanged).toEqual(
      seen.map((value) => ({ ref: reactionRef(post, "like", value.userId), value })),
    );
    const recent = await split(190, busy, {}, left).read();
    expect(recent?.unchanged.map(({ value }) => value)).toEqual(records(middle + 1, count));
    const missing = splits({ count: 100, restCount: after - 101 });
    expect(await split(100, busy, missing, left).read()).toBeUndefined();
    const doubled = splits({ count: 101, restCount: after - 100 });
    expect(await split(100, busy, doubled, left).read()).toBeUndefined();
  });
});

/** Queries whose splits at 100 differ in this. */
function splits(change: Partial<CountedSplit>): Partial<MemberQueries> {
  const whole = { count: 100, first: records(101, 103), latest: records(97, 100).toReversed() };
  return { splitMembers: async () => ({ ...whole, ...change }) };
}

describe("who is shown in the place of a member", () => {
  const refill = (
    version: number,
    found: Partial<MemberQueries> = {},
    change: Partial<UnreadGroup> = {},
  ) => {
    const group = groupOf(count, change);
    return lookUpRefill({ queries: reading(count, found), ref, group, now: busy }, version);
  };

  test("is known in a group that shows all, or that does not show the member", () => {
    expect(refill(100)).toBeUndefined();
    const small = { queries: reading(5), ref, group: groupOf(5), now: busy };
    expect(lookUpRefill(small, 1)).toBeUndefined();
  });

  test("at the first end outlasts a join, at the latest one does not", async () => {
    const first = await refill(1)?.read();
    expect(first?.result).toEqual({ first: records(1, 3), lasts: true, version: count });
    const latest = await refill(count)?.read();
    expect(latest?.result).toMatchObject({ lasts: false });
    expect(latest?.result.latest?.slice(0, 4)).toEqual(records(197, count).toReversed());
    expect(latest?.result).not.toHaveProperty("first");
  });

  test("is read again when a recent member is missing, and names what was seen", async () => {
    const missing = { membersAfter: async () => records(137, count) };
    expect(await refill(count, missing)?.read()).toBeUndefined();
    const found = await refill(1, {}, left)?.read();
    const { after } = groupOf(count).recent;
    const seen = [...records(1, 3), ...records(after - 3, after).toReversed()];
    expect(found?.unchanged.map(({ value }) => value)).toEqual(seen);
  });

  test("of a read group is found at both ends, as soon as all members are applied", async () => {
    const { leaveCount: _, leaveTime: __, recent: ___, ...group } = groupOf(count);
    const read: ReadGroup = { ...group, readTime: busy, expireTime: calm };
    const at = (now: number) =>
      lookUpRefill({ queries: reading(count), ref: readRef, group: read, now }, 2);
    expect(await at(calm - 1)?.read()).toBeUndefined();
    const ends = { first: records(1, 3), latest: records(197, count).toReversed() };
    const found = await at(calm)?.read();
    expect(found?.result).toEqual(ends);
    const seen: readonly Member[] = [...ends.first, ...ends.latest];
    expect(found?.unchanged.map(({ value }) => value)).toEqual(seen);
  });
});
