/** Tests the options of `npm run chaos`, and that a bad one gets one line. */
import { expect, test } from "vitest";
import { readOptions } from "./options.ts";

test("minutes and seed", () => {
  expect(readOptions(["--minutes", "0.5", "--seed", "7"])).toEqual({ minutes: 0.5, seed: 7 });
});

test("ten minutes and a fresh seed without options", () => {
  const [one, two] = [readOptions([]), readOptions([])];
  expect([one.minutes, two.minutes]).toEqual([10, 10]);
  expect(one.seed).not.toBe(two.seed);
});

test.each([
  [["--minutes", "0"], "--minutes is a number above 0, up to 1440, such as 0.5; not 0"],
  [["--minutes", "ten"], "--minutes is a number above 0, up to 1440, such as 0.5; not ten"],
  [["--seed", "-1"], /^Option '--seed' argument is ambiguous; npm run chaos -- /],
  [["--seed", "1.5"], "--seed is a whole number, as an earlier run has printed it; not 1.5"],
  [["--second", "1"], /^Unknown option '--second'; npm run chaos -- \[--minutes N\] \[--seed S\]$/],
  [["10"], /^Unexpected argument '10'; npm run chaos -- /],
])("%j is refused in one line", (args, expected) => {
  const message = messageOf(() => readOptions(args));
  expect(message).toMatch(expected);
  expect(message).not.toContain("\n");
});

function messageOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing was thrown";
}
