/** Restores the tables of workloads to different moments and compares them: fresh drills. */
import fc from "fast-check";
import { test } from "vitest";
import { drills, playDrill } from "../support/models/restore-play.ts";
import { assertSeeded } from "../support/models/seeded.ts";

test("whatever the moments, each call is made once, and the tables agree again", async () => {
  await assertSeeded(fc.asyncProperty(drills, playDrill), 150, 15 * 60_000);
});
