/** Fresh histories of an account on the store in memory, more than `npm test` plays. */
import { test, vi } from "vitest";
import { histories } from "../support/models/points-model.ts";
import { playHistories } from "../support/soak.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

/** Found that a refusal was not validated together with what its batch had changed. */
const staleRefusal = 9_598_072;

test("histories equal the oracle after every step", async () => {
  const known = [{ seed: staleRefusal, numRuns: 100 }];
  await playHistories(histories, { fresh: 2_000, ms: 30 * 60_000, known });
});
