/** Fresh histories of reactions on the store in memory, more than `npm test` plays. */
import { test, vi } from "vitest";
import { histories } from "../support/models/reactions-memory.ts";
import { playHistories } from "../support/soak.ts";

// The engine's pauses end at once, so that only the scheduler decides the order.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

/** Found that the oracle showed a change where an event about a deleted target is retracted. */
const retractedEvent = 363_441_843;
/** Found that two events at one moment had two orders which explained what was shown. */
const oneMoment = 1_887_428_689;

test("histories equal the oracle after every step", async () => {
  const known = [retractedEvent, oneMoment].map((seed) => ({ seed, numRuns: 30 }));
  await playHistories(histories, { fresh: 1_200, ms: 18 * 60_000, known });
});
