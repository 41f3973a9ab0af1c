/** Restores the tables of a workload to different moments and compares them: known drills. */
import fc from "fast-check";
import { test } from "vitest";
import { drills, playDrill } from "../support/models/restore-play.ts";
import { assertSeeds } from "../support/models/seeded.ts";

test("whatever the moments, each call is made once, and the tables agree again", async () => {
  await assertSeeds(fc.asyncProperty(drills, playDrill), [{ seed: 1, numRuns: 8 }]);
});
