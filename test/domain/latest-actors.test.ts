/** Tests the latest people of a target: the first ones of all, as many as there is room for. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  fitActors,
  keptActors,
  type LatestActor,
  latestOf,
  needsActors,
  withActor,
} from "../../src/domain/latest-actors.ts";

const actor = (n: number): LatestActor => ({ userId: `user-${n}`, version: n });

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
    expect(fitActors({}, ["constructor"])).toEqual({});
  });

  test("share what the counts leave free", () => {
    const long = (n: number) => ({ userId: `${n}`.padStart(64, "u"), version: 10 ** 14 });
    const six = [1, 2, 3, 4, 5, 6];
    const short = fitActors({ like: six.map(actor) }, ["like"]);
    expect(short.like).toHaveLength(6);
    const kinds = Array.from({ length: 16 }, (_, i) => `${i}`.padStart(20, "k"));
    const sizes = [1, 2, 3, 4, 8, 16].map((count) => {
      const some = kinds.slice(0, count);
      const fitted = fitActors(Object.fromEntries(some.map((k) => [k, six.map(long)])), some);
      return some.map((kind) => fitted[kind]?.length ?? 0);
    });
    expect(sizes.map((all) => new Set(all).size)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(sizes.map(([size]) => size)).toEqual([5, 2, 1, 0, 0, 0]);
    // Three kinds with ids of 36 characters, such as UUIDs, have room for the three of a summary.
    const uuid = (n: number) => ({ userId: `${n}`.padStart(36, "u"), version: 1_000_000 + n });
    const three = ["like", "love", "haha"];
    const fitted = fitActors(Object.fromEntries(three.map((k) => [k, six.map(uuid)])), three);
    expect(three.map((kind) => fitted[kind]?.length)).toEqual([3, 3, 3]);
  });
});
