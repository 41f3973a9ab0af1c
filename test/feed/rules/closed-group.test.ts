/** Tests which groups are closed, and how a member's group is found by a version. */
import { expect, test } from "vitest";
import {
  close,
  closedAt,
  isTooOld,
  replaceRange,
  toUnread,
} from "../../../src/feed/rules/closed-group.ts";
import {
  hasPosition,
  inboxCountsOf,
  isMember,
  join,
  leave,
  type UnreadGroup,
} from "../../../src/feed/rules/unread-group.ts";
import { reaction } from "../../support/fixtures/stored-reactions.ts";

const target = { type: "post", id: "1" };
const name = { target, kind: "like" };
const minute = 60_000;

/** A group of members with these versions, who came in a minute after each other. */
function groupOf(...versions: number[]): UnreadGroup {
  let group: UnreadGroup | undefined;
  for (const [i, version] of versions.entries()) {
    const userId = `u-${version}`;
    const member = { userId, displayName: userId, version, createTime: i * minute };
    group = join(group, { ...name, ...member });
  }
  return group as UnreadGroup;
}

test.each([
  [undefined, false],
  [2 * minute, false],
  [2 * minute - 1, true],
])("two minutes after its first member a group is too old after %s ms: %s", (after, expected) => {
  expect(isTooOld(groupOf(3, 7), 2 * minute, after)).toBe(expected);
});

test("a closed group has the members up to its last one, also after that one has left", () => {
  const closed = close(groupOf(3, 5, 7));
  expect(closed.closed).toEqual({ endVersion: 7, wasRead: false });
  const isIn = (group: UnreadGroup) =>
    [2, 3, 7, 8].map((version) => isMember(group, reaction(target, version)));
  expect(isIn(closed)).toEqual([false, true, true, false]);
  const left = leave(closed, { version: 7 }, 0) as UnreadGroup;
  expect(isIn(left)).toEqual([false, true, true, false]);
  expect(inboxCountsOf(left)).toMatchObject({ isClosed: true, version: 5 });
});

test("a version is found in the closed group of its kind", () => {
  const [a, b] = [close(groupOf(3, 5)), close(groupOf(7))];
  const other = { ...close(groupOf(4, 9)), kind: "love" };
  const ranges = [a, b, other].reduce(
    (all, each) => replaceRange(all, undefined, each),
    [] as ReturnType<typeof replaceRange>,
  );
  const found = (kind: string) =>
    [2, 3, 4, 5, 6, 7, 8].map((version) => closedAt(ranges, kind, version)?.generation);
  expect(found("like")).toEqual([undefined, 3, 3, 3, undefined, 7, undefined]);
  expect(found("love")).toEqual([undefined, undefined, 4, 4, 4, 4, 4]);
  expect(replaceRange(ranges, a, { ...a, memberCount: 1 })).toBe(ranges);
  expect(replaceRange(ranges, a, { ...a, generation: 4 })).toHaveLength(3);
  const ended = replaceRange(ranges, a, undefined);
  expect(ended.map(({ kind, generation }) => [kind, generation])).toEqual([
    ["like", 7],
    ["love", 4],
  ]);
});

test("members come back into a small group that is unread again, not into a large one", () => {
  const versions = Array.from({ length: 46 }, (_, i) => i + 1);
  const places = [versions.slice(0, 45), versions].map((all) => {
    const { leaveCount: _, leaveTime: __, recent: ___, ...group } = groupOf(...all);
    const read = { ...group, readTime: 1, expireTime: 2 };
    const again = toUnread(read, { version: 99, now: 5 });
    expect(again).toMatchObject({ closed: { wasRead: true, endVersion: all.length } });
    return [1, all.length, all.length + 1].map((version) => hasPosition(again, { version }));
  });
  expect(places).toEqual([
    [true, true, false],
    [false, false, false],
  ]);
});
