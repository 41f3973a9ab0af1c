/** Tests which successful calls are logged. */
import { expect, test } from "vitest";
import { createSampler } from "../../../src/platform/edge/sampler.ts";

test("50 a second are logged, then one in 100, and each second anew", () => {
  let now = 5_000;
  const sample = createSampler(() => now);
  const rates = (calls: number) => {
    const all = Array.from({ length: calls }, sample);
    return { whole: all.filter((rate) => rate === 1).length, all: all.reduce((a, b) => a + b * b) };
  };
  expect(rates(50)).toEqual({ whole: 50, all: 50 });
  const more = Array.from({ length: 1_000 }, sample).filter((rate) => rate > 0);
  expect(more).toEqual(Array(10).fill(0.01));
  now = 6_000;
  expect(rates(50)).toEqual({ whole: 50, all: 50 });
});
