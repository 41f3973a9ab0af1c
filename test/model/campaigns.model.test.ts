/** Compares random histories of campaigns, their files, workers and people with the audit. */
import { test, vi } from "vitest";
import { campaignHistories, fileHistories } from "../support/models/campaigns-model.ts";
import { assertSeeds } from "../support/models/seeded.ts";

vi.mock("@temporalio/workflow", () => import("../support/models/memory-temporal.ts"));

// Blocks of three rows, so that small sheets have several blocks and ranges.
vi.mock("../../src/bulk-grants/rules/sheet.ts", async (original) => ({
  ...(await original<typeof import("../../src/bulk-grants/rules/sheet.ts")>()),
  rowsPerBlock: 3,
}));

// The waits as they are shipped, not those that tests have shortened.
vi.mock("../../workflows/timing.ts", () => import("../../workflows/timing.ts?as-shipped" as never));

// All pauses are in virtual time.
vi.mock("node:timers/promises", async (original) => ({
  ...(await original<typeof import("node:timers/promises")>()),
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

test("known histories of campaigns keep the rules", async () => {
  await assertSeeds(campaignHistories, [{ seed: 20_261_127, numRuns: 10 }]);
});

test("known histories of files keep the rules", async () => {
  await assertSeeds(fileHistories, [
    // A wrong sheet is replaced before its pick-up reads what is wrong with it.
    { seed: 20_261_124, path: "212", numRuns: 1 },
    // A process is killed while a row of it is under way, which arrives in a pause.
    { seed: 1_120_188_936, path: "115", numRuns: 1 },
    // A revision with rows that were granted before is cancelled before its check has ended.
    { seed: 1_045_830_224, path: "114", numRuns: 1 },
    { seed: 524_223_694, path: "21", numRuns: 1 },
    // A right sheet is replaced by a wrong one between its listing and its reading.
    { seed: 881_459_560, path: "1", numRuns: 1 },
    { seed: 881_459_779, path: "1", numRuns: 1 },
    // The store gives no answer to the unfreeze of an account, which is sent again.
    { seed: 201_097_055, path: "461", numRuns: 1 },
  ]);
});
