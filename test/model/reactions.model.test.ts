/** Thousands of random lives on the store in memory: equal to the oracle after every step. */
import { randomInt } from "node:crypto";
import fc from "fast-check";
import { test, vi } from "vitest";
import { openMemory } from "./reactions-memory.ts";
import { life, play, turnsOf } from "./reactions-model.ts";

// The engine's pauses pass at once: what comes first is up to the scheduler alone.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

// A failure prints seed and path; put them here to see it again.
const replay: { seed: number; path?: string } = { seed: randomInt(2 ** 31) };

test("2,000 lives are as the oracle says, after every step", async () => {
  console.info(`seed of the lives: ${replay.seed}`);
  const property = fc.asyncProperty(life(40), fc.scheduler(), (steps, scheduler) => {
    const now = Date.UTC(2026, 0, 15);
    const service = openMemory(now, turnsOf(scheduler));
    return play(steps, { service, now, prefix: "" });
  });
  // Time enough for all of them; what is shrunk when it is up is told as it is.
  const time = { interruptAfterTimeLimit: 280_000, markInterruptAsFailure: true };
  await fc.assert(property, { numRuns: 2_000, ...time, ...replay });
}, 300_000);
