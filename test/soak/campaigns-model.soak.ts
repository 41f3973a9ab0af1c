/** Fresh histories of campaigns in memory; `npm test` plays known ones. */
import { test, vi } from "vitest";
import { campaignHistories } from "../support/models/campaigns-model.ts";
import { assertSeeded } from "../support/models/seeded.ts";

vi.mock("@temporalio/workflow", () => import("../support/models/memory-temporal.ts"));

// Blocks of three rows, so that small sheets have several blocks and lanes.
vi.mock("../../src/domain/sheet.ts", async (original) => ({
  ...(await original<typeof import("../../src/domain/sheet.ts")>()),
  rowsPerBlock: 3,
}));

// All pauses are in virtual time.
vi.mock("node:timers/promises", async (original) => ({
  ...(await original<typeof import("node:timers/promises")>()),
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

test("1,000 histories of campaigns keep the rules", async () => {
  await assertSeeded(campaignHistories, 1_000, 15 * 60_000);
});
