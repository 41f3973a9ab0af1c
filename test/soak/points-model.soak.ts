/** All random histories on the store in memory; `npm test` plays a tenth of them. */
import { test, vi } from "vitest";
import { histories } from "../support/models/points-model.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses pass in virtual time.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

test("2,000 histories are as the oracle says, after every step", async () => {
  await assertSeeded(histories, 2_000, 30 * 60_000);
});
