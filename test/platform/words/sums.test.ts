/** Tests the sum of what the steps of long work have counted. */
import { expect, test } from "vitest";
import { maxReports } from "../../../src/platform/words/quantities.ts";
import { addCounts } from "../../../src/platform/words/sums.ts";

test("numbers, decimals, lists and objects are added, whichever of them has the name", () => {
  const total = { failed: 1, names: ["a"], months: { 1: "9007199254740993" }, held: "4" };
  const next = { failed: 2, names: ["b"], months: { 1: "1", 2: "5" }, absent: undefined };
  const months = { 1: "9007199254740994", 2: "5" };
  const sum = { failed: 3, names: ["a", "b"], months, held: "4" };
  expect(addCounts<object>(total, next)).toEqual(sum);
  expect(addCounts<object>({}, total)).toEqual(total);
});

test("of a list the first items are kept", () => {
  const names = Array.from({ length: maxReports - 1 }, (_, i) => i);
  expect(addCounts({ names }, { names: [-1, -2] }).names).toEqual([...names, -1]);
});

test("what is no whole number is not added", () => {
  expect(() => addCounts({}, { points: "1.5" })).toThrow(SyntaxError);
});
