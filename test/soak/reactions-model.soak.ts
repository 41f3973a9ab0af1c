/** Known histories of reactions on the store in memory, more than `npm test` plays. */
import { test, vi } from "vitest";
import { histories } from "../support/models/reactions-memory.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses end at once, so that only the scheduler decides the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

/** Known until fresh ones with versions of changes were right for some thousands. */
const seed = 363_441_843;

test("1,200 histories equal the oracle after every step", async () => {
  await assertSeeded(histories, 1_200, 18 * 60_000, seed);
});
