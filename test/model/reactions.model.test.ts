/** Compares random histories of reactions on the store in memory with the oracle. */
import { test, vi } from "vitest";
import { histories } from "../support/models/reactions-memory.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses end at once, so that only the scheduler decides the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("200 histories equal the oracle after every step", async () => {
  await assertSeeded(histories, 200);
});
