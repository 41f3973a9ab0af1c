/** Tests which limits an entry crosses: by examples, and against a model over random histories. */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { type Crossing, crossingsOf } from "../../../src/events/rules/crossings.ts";
import { history, openMemory, play, type System } from "../../support/models/points-model.ts";
import type { Line } from "../../support/models/points-oracle.ts";
import { inVirtualTime } from "../../support/models/virtual-time.ts";

// The engine's pauses use the global timers, which are faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}));

/** An entry that moves the available points from one number to another. */
const entry = (before: number, after: number) => ({
  availablePoints: after,
  changes: before === after ? [] : [{ month: 1, points: after - before }],
});

const shown = ({ direction, limit }: Crossing) => `${direction} ${limit}`;

test.each([
  [99, 100, []],
  [100, 99, ["BELOW 100"]],
  [99, 98, []],
  [0, 1, ["ABOVE 0"]],
  [0, 0, []],
  [10_000, 10_001, ["ABOVE 10000"]],
  [10_001, 10_000, []],
  [0, 20_000, ["ABOVE 0", "ABOVE 10000"]],
  [20_000, 0, ["BELOW 500", "BELOW 100"]],
  // A balance that holds have emptied and that a refund has filled.
  [500, 500, []],
])("from %i to %i: %j", (before, after, expected) => {
  const limits = { below: [100, 500], above: [0, 10_000] };
  const crossings = crossingsOf(entry(before, after), limits);
  expect(crossings.map(shown)).toEqual(expected);
  for (const { previousPoints, points } of crossings) {
    expect([previousPoints, points]).toEqual([before, after]);
  }
});

/** Walks from balance to balance, and remembers on which side of each limit the account is. */
function walked(lines: readonly Line[], below: readonly number[], above: readonly number[]) {
  const isUnder = new Map(below.map((limit) => [limit, 0 < limit]));
  const isOver = new Map(above.map((limit) => [limit, false]));
  return lines.map(({ balance }) => {
    const crossed: string[] = [];
    for (const [limit, was] of isUnder) {
      isUnder.set(limit, balance < limit);
      if (!was && balance < limit) crossed.push(`BELOW ${limit}`);
    }
    for (const [limit, was] of isOver) {
      isOver.set(limit, balance > limit);
      if (!was && balance > limit) crossed.push(`ABOVE ${limit}`);
    }
    return crossed.sort();
  });
}

test("each entry of a random history crosses what a walk over the balances crosses", async () => {
  const limit = fc.oneof(fc.nat(30), fc.nat(2_000));
  const limits = fc.uniqueArray(limit, { maxLength: 8 });
  let crossingCount = 0;
  const property = fc.asyncProperty(history(40), limits, limits, async (each, any, above) => {
    const below = any.filter((one) => one > 0);
    let system: System | undefined;
    await inVirtualTime(async () => {
      await play(each, async (...rules) => {
        system = await openMemory(...rules);
        return system;
      });
      const lines = (await system?.lines(0)) ?? [];
      const found = lines.map(({ balance, changes }) =>
        crossingsOf(
          {
            availablePoints: balance,
            changes: changes.map(([, points]) => ({ month: 1, points })),
          },
          { below, above },
        )
          .map(shown)
          .sort(),
      );
      expect(found).toEqual(walked(lines, below, above));
      crossingCount += found.flat().length;
    });
  });
  await fc.assert(property, { numRuns: 15 });
  expect(crossingCount).toBeGreaterThan(50);
});
