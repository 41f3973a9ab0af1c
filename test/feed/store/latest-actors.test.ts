/** Tests how many of a target's latest people are stored, and that 1 KB has room for them. */
import { expect, test } from "vitest";
import { targetRef } from "../../../src/feed/ports/records.ts";
import type { LatestActor, LatestActors } from "../../../src/feed/rules/latest-actors.ts";
import type { Target } from "../../../src/feed/rules/target.ts";
import { decodeActors, encodeActors } from "../../../src/feed/store/codecs/latest-actors.ts";
import { itemSize } from "../../../src/platform/dynamodb/sdk/item-size.ts";
import { toItem } from "../../../src/store/codecs.ts";
import { far, range, target } from "../../support/fixtures/stored-reactions.ts";

const long = (n: number) => ({ userId: `${n}`.padStart(64, "u"), version: 36 ** 4 + n });
const uuid = (n: number) => ({ userId: `${n}`.padStart(36, "u"), version: 1_000_000 + n });
const three = ["like", "love", "haha"];
const all = (kinds: readonly string[], each: (n: number) => LatestActor = long) =>
  Object.fromEntries(kinds.map((kind) => [kind, range(1, 6).map(each).reverse()]));
const name = { type: "post", id: "i".repeat(64), ownerId: "o".repeat(64) };
const longest = { title: "題".repeat(32), link: "l".repeat(200) };
const countsOf = (kinds: readonly string[], count = 100) =>
  Object.fromEntries(kinds.map((kind) => [kind, count]));

/** How many people of each kind are stored, who are the first ones of those given. */
function stored(
  byKind: LatestActors["byKind"],
  kinds: readonly string[],
  texts: Partial<Target> = {},
): number[] {
  const beside = { ...name, counts: countsOf(kinds), title: "", link: "", ...texts };
  const kept = decodeActors(encodeActors(beside, { time: 7, byKind }));
  expect(kept?.time).toBe(7);
  return kinds.map((kind) => {
    const people = kept?.byKind[kind] ?? [];
    expect(people).toEqual(byKind[kind]?.slice(0, people.length) ?? []);
    return people.length;
  });
}

test("three kinds take one query at most, with ids of 64 characters", () => {
  expect(stored(all(three), three, { title: "A post", link: "/posts/1" })).toEqual([4, 3, 3]);
  expect(stored(all(three), three, longest)).toEqual([3, 3, 0]);
  const kinds = ["k", "l", "m"].map((each) => each.repeat(12));
  expect(stored(all(kinds), kinds, longest)).toEqual([3, 3, 0]);
});

test("the people of a summary come first, then one more of each kind", () => {
  expect(stored(all(["like"]), ["like"])).toEqual([6]);
  expect(stored(all(three, uuid), three)).toEqual([6, 6, 6]);
  expect(stored(all(three, uuid), three, longest)).toEqual([4, 4, 3]);
});

test("of kinds of which too few are known, that of the latest reaction fills up", () => {
  const few = { ...all(three), like: [long(6), long(5)] };
  expect(stored(few, three, longest)).toEqual([0, 3, 3]);
  const two = { ...few, haha: [long(7), long(6)] };
  expect(stored(two, three, longest)).toEqual([1, 3, 2]);
  expect(stored({ ...two, like: [long(8), long(5)] }, three, longest)).toEqual([2, 3, 1]);
});

test("nobody is stored where there is no room, nor of a kind that every object has", () => {
  const kinds = range(0, 15).map((i) => `${i}`.padStart(20, "k"));
  expect(new Set(stored(all(kinds), kinds, longest))).toEqual(new Set([0]));
  const beside = { ...name, counts: { constructor: 1 }, title: "", link: "" };
  expect(encodeActors(beside, { time: 7, byKind: {} })).toEqual({ y: { N: "7" } });
});

test("a target stays under 1 KB however many people it has room for", () => {
  const named = { type: "t".repeat(20), id: "i".repeat(64) };
  const texts = { ...longest, ownerId: "o".repeat(64), createTime: far, updateTime: far };
  const version = 10 ** 15 - 1;
  for (const kindCount of [1, 2, 3, 8]) {
    const kinds = range(1, kindCount).map((i) => `${i}`.padStart(20, "k"));
    const counts = countsOf(kinds, Number.MAX_SAFE_INTEGER - 1);
    for (const length of range(1, 64)) {
      const byKind = all(kinds, (i) => ({ userId: `${i}`.padStart(length, "u"), version }));
      for (const more of [longest, { title: "", link: "" }]) {
        const latest = { time: far, byKind };
        const value = target(named, { ...texts, ...more, counts, muted: true, latest });
        expect(itemSize(toItem(targetRef(named), value, version))).toBeLessThan(1024);
      }
    }
  }
});

test("however long the ids of a target and its owner are, it stays under 1 KB", () => {
  const version = 10 ** 15 - 1;
  for (const bytes of [1, 36, 64, 127, 128]) {
    const named = { type: "t".repeat(20), id: "i".repeat(2 * bytes) };
    const byKind = all(three, (i) => ({ userId: `${i}`.padStart(bytes, "u"), version }));
    const more = { ...longest, createTime: far, updateTime: far, ownerId: "o".repeat(bytes) };
    const latest = { time: far, byKind };
    const counts = countsOf(three, Number.MAX_SAFE_INTEGER - 1);
    const value = target(named, { ...more, counts, muted: true, latest });
    expect(itemSize(toItem(targetRef(named), value, version))).toBeLessThan(1024);
  }
});
