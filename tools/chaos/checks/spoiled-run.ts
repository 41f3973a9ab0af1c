/** Tests that one wrong thing in a recorded run is found. */
import { expect } from "vitest";
import { check } from "./check.ts";
import { type Run, recordedRun } from "./recorded-run.ts";

/** What is wrong, how the run is made so, and what the checks say of it. */
export type Case = [name: string, spoil: (run: Run) => void, expected: RegExp];

export async function expectFound(...[, spoil, expected]: Case): Promise<void> {
  const run = await recordedRun();
  spoil(run);
  const wrong = check(run.record, run.state);
  expect(wrong.filter((what) => expected.test(what)).length, wrong.join("\n")).toBeGreaterThan(0);
}
