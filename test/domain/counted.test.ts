/** Tests how numbers of things are written for people. */
import { expect, test } from "vitest";
import { counted } from "../../src/domain/counted.ts";

test.each([
  [0, "0 rows"],
  [1, "1 row"],
  [2, "2 rows"],
  [1_500, "1,500 rows"],
])("%i is written as %s", (count, text) => {
  expect(counted(count, "row")).toBe(text);
});
