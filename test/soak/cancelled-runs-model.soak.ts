/** Fresh runs of bulk grants that are cancelled meanwhile; `npm test` plays known ones. */
import { test, vi } from "vitest";
import { cancelledRuns } from "../support/models/cancelled-runs.ts";
import { assertSeeded } from "../support/models/seeded.ts";

// The engine's pauses end at once, so that only the attempts decide the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
  setImmediate: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("500 runs that are cancelled meanwhile count what was granted", async () => {
  await assertSeeded(cancelledRuns, 500, 10 * 60_000);
});
