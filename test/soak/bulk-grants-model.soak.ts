/** Fresh histories of bulk grants in memory, more than `npm test` plays. */
import { test, vi } from "vitest";
import { histories } from "../support/models/bulk-model.ts";
import { cancelledRuns } from "../support/models/cancelled-runs.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses end at once, so that only the scheduler decides the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
  setImmediate: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("500 histories equal the oracle after every step", async () => {
  await assertSeeded(histories, 500, 30 * 60_000);
});

test("500 runs that are cancelled meanwhile count what was granted", async () => {
  await assertSeeded(cancelledRuns, 500, 10 * 60_000);
});
