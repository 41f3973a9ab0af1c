/** Fresh histories of campaigns in memory; `npm test` plays those that have failed once. */
import { test, vi } from "vitest";
import { campaignHistories } from "../support/models/campaigns-model.ts";
import { playHistories } from "../support/soak.ts";

vi.mock("@temporalio/workflow", () => import("../support/models/memory-temporal.ts"));

// Blocks of three rows, so that small sheets have several blocks and ranges.
vi.mock("../../src/bulk-grants/rules/sheet.ts", async (original) => ({
  ...(await original<typeof import("../../src/bulk-grants/rules/sheet.ts")>()),
  rowsPerBlock: 3,
}));

// All pauses are in virtual time.
vi.mock("node:timers/promises", async (original) => ({
  ...(await original<typeof import("node:timers/promises")>()),
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

test("histories of campaigns keep the rules", async () => {
  const known = [{ seed: 20_261_126, numRuns: 20 }];
  await playHistories(campaignHistories, { fresh: 1_000, ms: 15 * 60_000, known });
});
