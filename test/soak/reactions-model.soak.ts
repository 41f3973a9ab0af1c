/** Random histories of reactions on the store in memory; `npm test` runs known ones. */
import { test, vi } from "vitest";
import { histories } from "../support/models/reactions-memory.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses end at once, so that only the scheduler decides the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("2,000 histories equal the oracle after every step", async () => {
  await assertSeeded(histories, 2_000, 30 * 60_000);
});
