/** Random histories of an account on the store in memory; `npm test` runs known ones. */
import { test, vi } from "vitest";
import { histories } from "../support/models/points-model.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

test("2,000 histories equal the oracle after every step", async () => {
  await assertSeeded(histories, 2_000, 30 * 60_000);
});
