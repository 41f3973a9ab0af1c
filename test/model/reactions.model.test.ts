/** Random lives on the store in memory: equal to the oracle after every step. */
import { test, vi } from "vitest";
import { lives } from "../support/models/reactions-memory.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses pass at once: what comes first is up to the scheduler alone.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("200 lives are as the oracle says, after every step", async () => {
  await assertSeeded(lives, 200, 170_000);
}, 180_000);
