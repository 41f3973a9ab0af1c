/** Tests how texts are laid out within the width of a terminal. */
import stringWidth from "string-width";
import { expect, test } from "vitest";
import { cutToWidth, pairLines, wrapped } from "../../packages/cli/src/layout.ts";

test.each([
  ["one two three", 8, ["one two", "three"]],
  ["one two three", 7, ["one two", "three"]],
  ["夏のご愛顧キャンペーン", 8, ["夏のご愛", "顧キャン", "ペーン"]],
  ["a 夏のご愛顧", 5, ["a 夏", "のご", "愛顧"]],
  ["abcdefgh ij", 4, ["abcd", "efgh", "ij"]],
  ["", 4, [""]],
] as const)("%j in %d columns", (text, width, lines) => {
  expect(wrapped(text, width)).toEqual(lines);
});

test("no line is wider than the terminal, and no character is lost or torn", () => {
  const text = "👩‍👩‍👧‍👦が 100 ポイント、e\u0301te\u0301 ".repeat(9).trim();
  for (let width = 2; width <= 90; width++) {
    const lines = wrapped(text, width);
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(width);
    expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
    for (const line of lines) expect(line).not.toMatch(/^[\u0301\u200d]|\u200d$/);
  }
});

test.each([
  ["春", 2, "春"],
  ["春のキャンペーン", 9, "春のキャ…"],
  ["春のキャンペーン", 10, "春のキャ…"],
  ["spring", 6, "spring"],
  ["springs", 6, "sprin…"],
  ["👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 5, "👩‍👩‍👧‍👦👩‍👩‍👧‍👦…"],
] as const)("%j is cut to %d columns", (text, width, cut) => {
  expect(cutToWidth(text, width)).toBe(cut);
});

test("a text goes on below itself", () => {
  const pairs = [
    ["who", "aoi"],
    ["タイトル", "夏のご愛顧に感謝して、みなさまへ"],
  ] as const;
  expect(pairLines(pairs, 32)).toEqual([
    ["who       aoi"],
    ["タイトル  夏のご愛顧に感謝して、", "          みなさまへ"],
  ]);
});
