/** Fresh histories of reactions on the store in memory; `npm test` plays known ones. */
import { test, vi } from "vitest";
import { histories } from "../support/models/reactions-memory.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses end at once, so that only the scheduler decides the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("1,200 histories equal the oracle after every step", async () => {
  await assertSeeded(histories, 1_200, 18 * 60_000);
});
