/** Compares random histories of bulk grants on the store in memory with the oracle. */
import { test, vi } from "vitest";
import { histories } from "../support/models/bulk-model.ts";
import { assertSeeds } from "../support/models/seeded.ts";

// The engine's pauses end at once, so that only the scheduler decides the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
  setImmediate: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("16 known histories equal the oracle after every step", async () => {
  await assertSeeds(histories, [
    { seed: 20_261_123, numRuns: 15 },
    { seed: 2_003_523_823, path: "372", numRuns: 1 },
  ]);
});
