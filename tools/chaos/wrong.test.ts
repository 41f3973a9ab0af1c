/** Tests that what is wrong is shown at once, and that many equal lines hide no other one. */
import { expect, test } from "vitest";
import { createSurprises, inGroups } from "./wrong.ts";

test("equal lines are one line with their number, and what is beyond 20 lines is counted", () => {
  expect(inGroups([])).toEqual([]);
  const lines = [...Array(679).fill("internal error"), "not allowed", "internal error"];
  expect(inGroups(lines)).toEqual(["internal error (680 times)", "not allowed"]);
  const different = Array.from({ length: 23 }, (_, i) => `account ${i}`);
  expect(inGroups(different)).toEqual([...different.slice(0, 20), "and 3 other lines"]);
});

test("a surprise is said when it comes first, and kept each time", () => {
  const said: string[] = [];
  const { all, add } = createSurprises((line) => said.push(line));
  for (const what of ["a", "b", "a"]) add(what);
  expect(said).toEqual(["WRONG: a", "WRONG: b"]);
  expect(all).toEqual(["a", "b", "a"]);
  for (let i = 0; i < 30; i++) add(`account ${i}`);
  expect(said).toHaveLength(20);
  expect(all).toHaveLength(33);
});
