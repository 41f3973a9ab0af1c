/** Fresh runs of bulk grants that are cancelled meanwhile; `npm test` plays known ones. */
import { test, vi } from "vitest";
import { cancelledRuns } from "../support/models/cancelled-runs.ts";
import { playHistories } from "../support/soak.ts";

// The engine's pauses end at once, so that only the attempts decide the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
  setImmediate: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

test("runs that are cancelled meanwhile count what was granted", async () => {
  const known = [{ seed: 20_261_129, numRuns: 60 }];
  await playHistories(cancelledRuns, { fresh: 500, ms: 10 * 60_000, known });
});
