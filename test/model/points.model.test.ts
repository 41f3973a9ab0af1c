/** Compares random histories of an account on the store in memory with the oracle. */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { formatMonth, monthAt, monthStart, parseMonth } from "../../src/platform/words/month.ts";
import { histories } from "../support/models/points-model.ts";
import { lotAt, name, startOfMonth } from "../support/models/points-oracle.ts";
import { assertSeeds } from "../support/models/seeded.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

/** The first two have found a defect once. */
const seeds = [
  { seed: 670_455_784, path: "968", numRuns: 1 },
  { seed: 1_379_077_385, numRuns: 19 },
  { seed: 20_261_123, numRuns: 10 },
];

test("30 known histories equal the oracle after every step", async () => {
  await assertSeeds(histories, seeds);
});

test("the oracle's calendar, made only of wall clocks, equals the domain's", () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf("timeZone"));
  const instants = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2040, 0, 1) });
  fc.assert(
    fc.property(zones, instants, (timeZone, instant) => {
      const month = monthAt(timeZone, instant);
      const lot = lotAt(timeZone, instant);
      expect(formatMonth(month)).toBe(name(lot));
      expect(parseMonth(name(lot))).toBe(month);
      expect(monthStart(timeZone, month)).toBe(startOfMonth(timeZone, lot));
      expect(monthAt(timeZone, monthStart(timeZone, month))).toBe(month);
      expect(monthAt(timeZone, monthStart(timeZone, month) - 1)).toBe(month - 1);
    }),
    { numRuns: 1_000 },
  );
});
