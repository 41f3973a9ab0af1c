/** Tests the judgement of results. */
import { describe, expect, test } from "vitest";
import type { MeasuredResult } from "../../bench/report/stored.ts";
import { spreadOf, verdictOf } from "../../bench/report/verdict.ts";
import { compare } from "../../bench/support/compare.ts";
import { greatestOf, ratioByTurns } from "../../bench/support/numbers.ts";

const result = { name: "n", value: 2, unit: "", target: "<= 2", baseline: "", foreignLoad: 0.1 };

describe("the verdict", () => {
  test.each<[string, Partial<MeasuredResult>]>([
    ["met", {}],
    ["MISSED", { value: 2.01 }],
    ["met", { target: ">= 2" }],
    ["MISSED", { target: ">= 2", value: 1.99 }],
    ["", { target: "" }],
    ["noisy", { foreignLoad: 0.101 }],
    ["noisy", { foreignLoad: 0.101, value: 3 }],
    ["met", { foreignLoad: 0.9, counted: true }],
    ["met", { foreignLoad: null }],
  ])("is %j: %j", (expected, changed) => {
    expect(verdictOf({ ...result, ...changed })).toBe(expected);
  });
});

describe("the turns", () => {
  test("have a least, a median and a greatest", () => {
    expect(spreadOf({ turns: [3, 1, 10, 2] })).toEqual([1, 2.5, 10]);
    expect(spreadOf({})).toEqual([]);
  });

  test("of two sides are compared turn by turn", () => {
    expect(ratioByTurns([2, 9, 8], [1, 3, 2])).toEqual({ value: 3, turns: [2, 3, 4] });
  });

  test("of a longest wait give the greatest", () => {
    expect(greatestOf([1, 7, 3])).toEqual({ value: 7, turns: [1, 7, 3] });
  });

  test("of many rounds are tenths of them, without the first ones", async () => {
    const scale = { quick: false, pick: <T>(full: T) => full, note: () => {} };
    const rounds = { all: 25, first: 5 };
    const time = async (side: number, n: number) => (n < 5 ? 1_000 : side * (side > 1 ? n : 1));
    const { value, turns } = await compare(scale, "", rounds, [1, 2], time);
    expect(value).toBe(29);
    expect(turns).toEqual([11, 15, 19, 23, 27, 31, 35, 39, 43, 47]);
  });
});
