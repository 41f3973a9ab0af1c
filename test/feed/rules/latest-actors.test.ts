/** Tests the latest people of a target: the first ones of all, as many as there is room for. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  fitActors,
  keptActors,
  type LatestActor,
  type LatestActors,
  latestOf,
  needsActors,
  withActor,
} from "../../../src/feed/rules/latest-actors.ts";

const actor = (n: number): LatestActor => ({ userId: `user-${n}`, version: n });

/** What a target without title and link has beside its latest people. */
const beside = (counts: Record<string, number>) => ({ counts, title: "", link: "" });

/** Reactions that come, leave and come back at their old versions, and what is known of them. */
function play(steps: readonly { readonly pick: number; readonly op: string }[]) {
  let all: LatestActor[] = [];
  let left: LatestActor[] = [];
  let known: readonly LatestActor[] = [];
  let version = 0;
  const add = (each: LatestActor, isNewest: boolean) => {
    known = withActor(known, each, { count: all.length, isNewest });
    all = [...all, each].sort((a, b) => b.version - a.version);
  };
  for (const { pick, op } of steps) {
    const gone = left[pick % Math.max(1, left.length)];
    const leaving = all[pick % Math.max(1, all.length)];
    if (op === "leave" && leaving) {
      all = all.filter((each) => each !== leaving);
      known = known.filter(({ userId }) => userId !== leaving.userId);
      left.push(leaving);
    } else if (op === "return" && gone) {
      left = left.filter((each) => each !== gone);
      add(gone, false);
    } else add(actor(++version), true);
    expect(known).toEqual(all.slice(0, known.length));
    expect(known.length).toBeLessThanOrEqual(keptActors);
  }
}

describe("the latest people of a kind", () => {
  test("are the first ones of all, whoever comes, leaves and returns", () => {
    const op = fc.constantFrom("come", "come", "leave", "leave", "return");
    const steps = fc.array(fc.record({ pick: fc.nat(20), op }), { maxLength: 60 });
    fc.assert(fc.property(steps, play), { seed: 25 });
  });

  test("have to be read when too few remain, but not within a second of a change", () => {
    const latest = { time: 5_000, byKind: { like: [actor(9), actor(8), actor(7)] } };
    const leaving = { userId: "user-8", count: 5, now: 6_000 };
    expect(needsActors(latest, "like", leaving)).toBe(true);
    expect(needsActors(latest, "like", { ...leaving, now: 5_999 })).toBe(false);
    expect(needsActors(latest, "like", { ...leaving, count: 3 })).toBe(false);
    expect(needsActors(latest, "like", { ...leaving, userId: "user-1" })).toBe(false);
    expect(needsActors(undefined, "like", leaving)).toBe(false);
  });

  test("of a kind with the name of a property of every object are none", () => {
    expect(latestOf({ time: 0, byKind: {} }, "constructor")).toEqual([]);
    expect(fitActors({}, beside({ constructor: 1 }))).toEqual({});
  });

  describe("share what counts, title and link leave free", () => {
    const six = [1, 2, 3, 4, 5, 6];
    const long = (n: number) => ({ userId: `${n}`.padStart(64, "u"), version: 36 ** 4 + n });
    const three = ["like", "love", "haha"];
    const all = (kinds: readonly string[], each: (n: number) => LatestActor = long) =>
      Object.fromEntries(kinds.map((kind) => [kind, six.map(each).reverse()]));
    const counts = (kinds: readonly string[]) =>
      Object.fromEntries(kinds.map((kind) => [kind, 100]));
    const longest = { title: "題".repeat(32), link: "l".repeat(200) };
    const sizes = (
      byKind: LatestActors["byKind"],
      kinds: readonly string[],
      texts = {},
      changed?: string,
    ) => {
      const fitted = fitActors(byKind, { ...beside(counts(kinds)), ...texts }, changed);
      for (const kind of kinds) {
        const kept = fitted[kind] ?? [];
        expect(kept).toEqual(byKind[kind]?.slice(0, kept.length) ?? []);
      }
      return kinds.map((kind) => fitted[kind]?.length ?? 0);
    };

    test("so that three kinds take one query at most, with ids of 64 characters", () => {
      expect(sizes(all(three), three, { title: "A post", link: "/posts/1" })).toEqual([4, 3, 3]);
      expect(sizes(all(three), three, longest)).toEqual([3, 3, 0]);
      const kinds = ["k", "l", "m"].map((each) => each.repeat(12));
      expect(sizes(all(kinds), kinds, longest)).toEqual([3, 3, 0]);
    });

    test("of which the people of a summary come first, then one more of each kind", () => {
      const uuid = (n: number) => ({ userId: `${n}`.padStart(36, "u"), version: 1_000_000 + n });
      expect(sizes(all(["like"]), ["like"])).toEqual([6]);
      expect(sizes(all(three, uuid), three)).toEqual([6, 6, 6]);
      expect(sizes(all(three, uuid), three, longest)).toEqual([4, 4, 3]);
    });

    test("and of kinds of which too few are known, the one that has changed fills up", () => {
      const few = { ...all(three), like: [long(6), long(5)] };
      expect(sizes(few, three, longest)).toEqual([0, 3, 3]);
      const fewer = { ...few, haha: [long(7), long(6)] };
      expect(sizes(fewer, three, longest, "like")).toEqual([2, 3, 1]);
      expect(sizes(fewer, three, longest, "haha")).toEqual([1, 3, 2]);
    });

    test("and nobody is kept where there is no room", () => {
      const kinds = Array.from({ length: 16 }, (_, i) => `${i}`.padStart(20, "k"));
      expect(new Set(sizes(all(kinds), kinds, longest))).toEqual(new Set([0]));
    });
  });
});
