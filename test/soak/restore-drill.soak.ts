/** Restores the tables of workloads to different moments, and compares them. */
import fc from "fast-check";
import { test } from "vitest";
import { drills, playDrill } from "../support/models/restore-play.ts";
import { playHistories } from "../support/soak.ts";

test("whatever the moments, each call is made once, and the tables agree again", async () => {
  const known = [{ seed: 20_261_127, numRuns: 12 }];
  const property = fc.asyncProperty(drills, playDrill);
  await playHistories(property, { fresh: 150, ms: 15 * 60_000, known });
});
