/** Tests which limits an entry crosses, by examples. */
import { expect, test } from "vitest";
import { type Crossing, crossingsOf } from "../../../src/events/rules/crossings.ts";

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
