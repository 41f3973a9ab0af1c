/** Tests which patterns of user ids there are, and that they match an id as a whole. */
import { expect, test } from "vitest";
import { createUserIdMatch, whyNoPattern } from "../../../src/points/rules/user-id-pattern.ts";

test.each([
  ["0[0-9]{9,10}", "09012345678", true],
  ["0[0-9]{9,10}", "0821541000", true],
  ["0[0-9]{9,10}", "9012345678", false],
  ["0[0-9]{9,10}", "090123456789", false],
  ["0[0-9]{9,10}", "u09012345678", false],
  ["a|ab", "ab", true],
  ["", "a", false],
])("%s and %s", (pattern, userId, expected) => {
  expect(whyNoPattern(pattern)).toBeUndefined();
  expect(createUserIdMatch(pattern)(userId)).toBe(expected);
});

test.each([
  ["(", "is no regular expression of RE2: error parsing regexp: missing closing ): `(`"],
  [
    "(a)\\1",
    "is no regular expression of RE2: error parsing regexp: invalid escape sequence: `\\1`",
  ],
  ["a".repeat(257), "has at most 256 bytes"],
  ["あ".repeat(86), "has at most 256 bytes"],
  ["[0-9]{128}", "has at most 128 instructions; this one has 130"],
])("%s is refused", (pattern, reason) => {
  expect(whyNoPattern(pattern)).toBe(reason);
});

test("a pattern that other engines never finish is answered", () => {
  const match = createUserIdMatch("(a+)+(a+)+b");
  expect(match("a".repeat(128))).toBe(false);
});
