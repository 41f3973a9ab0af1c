/** Tests how numbers of things are written for people. */
import { expect, test } from "vitest";
import { nounFor, quantity } from "../../../src/platform/words/quantities.ts";

test.each([
  [0, "0 rows"],
  [1, "1 row"],
  [2, "2 rows"],
  [1_500, "1,500 rows"],
])("%i is written as %s", (count, text) => {
  expect(quantity(count, "row")).toBe(text);
});

test("a thing may have another plural", () => {
  expect([0, 1, 2].map((count) => quantity(count, "entry", "entries"))).toEqual([
    "0 entries",
    "1 entry",
    "2 entries",
  ]);
});

test("a text may write the number in its own way", () => {
  expect([1, 2].map((count) => nounFor(count, "row is", "rows are"))).toEqual([
    "row is",
    "rows are",
  ]);
});
