/** Tests the latest people of a target, who are the first ones of all, latest first. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  keptActors,
  type LatestActor,
  latestOf,
  withActor,
  withoutActor,
} from "../../../src/feed/rules/latest-actors.ts";

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
      known = withoutActor(known, leaving.userId);
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

  test("of a kind with the name of a property of every object are none", () => {
    expect(latestOf({ time: 0, byKind: {} }, "constructor")).toEqual([]);
  });
});
