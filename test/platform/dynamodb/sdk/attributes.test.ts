/** Tests the numbers in sort keys: what no key can hold is refused instead of stored wrongly. */
import { describe, expect, test } from "vitest";
import { pad } from "../../../../src/platform/dynamodb/sdk/attributes.ts";
import { timeKey } from "../../../../src/platform/dynamodb/time-keys.ts";

describe("a number in a sort key", () => {
  test("sorts as text in the order of numbers", () => {
    const numbers = [0, 9, 10, 99, 100, 999];
    expect(numbers.map((number) => pad(number, 3)).sort()).toEqual([
      "000",
      "009",
      "010",
      "099",
      "100",
      "999",
    ]);
  });

  test.each([-1, 1_000, 0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "cannot be %d in three digits",
    (number) => {
      expect(() => pad(number, 3)).toThrow(RangeError);
    },
  );
});

test("an execute time is encoded from 1970 to the end of the year 9999", () => {
  expect(timeKey(0)).toBe("000000000000000");
  expect(timeKey(Date.UTC(9999, 11, 31, 23, 59, 59, 999))).toBe("253402300799999");
  for (const time of [Date.UTC(1926, 0, 1), -1, 10 ** 15, Number.NaN]) {
    expect(() => timeKey(time)).toThrow(RangeError);
  }
});
