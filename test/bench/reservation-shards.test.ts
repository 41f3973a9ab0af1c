/** Tests that more shards of a program take more grants of one instant. */
import { expect, test } from "vitest";
import { rateWith } from "../../bench/cases/reservation-shards.ts";

test("the keys of 64 shards take three times the grants of 16", async () => {
  const [few, more] = [await rateWith(16, 2_000), await rateWith(64, 2_000)];
  expect(more / few).toBeGreaterThan(2.5);
  // No key takes much more than its part.
  expect(few).toBeGreaterThan(0.7 * 16_000);
});
