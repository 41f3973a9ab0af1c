/** Random histories of bulk grants in memory; `npm test` runs fewer of them. */
import { test, vi } from "vitest";
import { histories } from "../support/models/bulk-model.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses end at once, so that only the scheduler decides the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("1,000 histories equal the oracle after every step", async () => {
  await assertSeeded(histories, 1_000, 30 * 60_000);
});
