/** Thousands of random histories on the store in memory: equal to the oracle after every step. */
import { randomInt } from "node:crypto";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { formatMonth, monthAt, monthStart, parseMonth } from "../../src/domain/month.ts";
import { lotAt, name, startOfMonth } from "./oracle.ts";
import { history, openMemory, play } from "./points-model.ts";

// The engine's pauses pass at once.
vi.mock("node:timers/promises", () => ({
  setTimeout: () => new Promise<void>((resolve) => setImmediate(resolve)),
}));

// A failure prints seed and path; put them here to see it again.
const replay: { seed: number; path?: string } = { seed: randomInt(2 ** 31) };

test("2,000 histories are as the oracle says, after every step", async () => {
  console.info(`seed of the histories: ${replay.seed}`);
  const property = fc.asyncProperty(history(40), (each) => play(each, openMemory));
  // Time enough for all of them; what is shrunk when it is up is told as it is.
  const time = { interruptAfterTimeLimit: 280_000, markInterruptAsFailure: true };
  await fc.assert(property, { numRuns: 2_000, ...time, ...replay });
}, 300_000);

test("the oracle's calendar, made of wall clocks alone, agrees with the domain's", () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf("timeZone"));
  const instants = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2040, 0, 1) });
  fc.assert(
    fc.property(zones, instants, (zone, instant) => {
      const month = monthAt(zone, instant);
      const lot = lotAt(zone, instant);
      expect(formatMonth(month)).toBe(name(lot));
      expect(parseMonth(name(lot))).toBe(month);
      expect(monthStart(zone, month)).toBe(startOfMonth(zone, lot));
      expect(monthAt(zone, monthStart(zone, month))).toBe(month);
      expect(monthAt(zone, monthStart(zone, month) - 1)).toBe(month - 1);
    }),
    { numRuns: 1_000, ...replay },
  );
}, 60_000);
