/** Tests the crossings of entries against a model, over random histories in virtual time. */
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

const shown = ({ direction, limit }: Crossing) => `${direction} ${limit}`;

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
