/** Tests that a text of a caller is shown as it is where Markdown is rendered. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { escapeMarkdown } from "../../../src/platform/words/markdown.ts";

test.each([
  ["alice", "alice"],
  ["nightly/2026-11/spring.csv", "nightly/2026-11/spring.csv"],
  ["for you, Ben (thanks!)", "for you, Ben (thanks!)"],
  ["[approve](http://evil.test)", "\\[approve\\](http\\://evil.test)"],
  ["![](https://evil.test/seen)", "!\\[\\](https\\://evil.test/seen)"],
  ["<b>", "\\<b\\>"],
  ["&lt;", "\\&lt;"],
  ["**PAID** `x` ~y~ _z_", "\\*\\*PAID\\*\\* \\`x\\` \\~y\\~ \\_z\\_"],
  ["\\*", "\\\\\\*"],
  ["ACCOUNT_FROZEN: user_1_", "ACCOUNT_FROZEN: user_1\\_"],
  ["see www.evil.test", "see www\\.evil.test"],
  ["a\n\n# DONE", "a # DONE"],
  ["a\u2028b\u202ec", "a b c"],
])("%j is written as %j", (text, markdown) => {
  expect(escapeMarkdown(text)).toBe(markdown);
});

test("every mark has a backslash of its own, and without them the text is as before", () => {
  const marks = fc.constantFrom(..."\\`*_[]<>&~!#:/w.ab ");
  fc.assert(
    fc.property(fc.string({ unit: marks }), (text) => {
      const markdown = escapeMarkdown(text);
      expect(markdown.replace(/\\([!-/:-@[-`{-~])/g, "$1")).toBe(text);
      // A blank in place of each escaped mark, so that the characters beside it do not meet.
      expect(markdown.replace(/\\[!-/:-@[-`{-~]/g, " ")).not.toMatch(
        /[\\`*[\]<>&~]|\b_|_\b|:\/\/|\bwww\./,
      );
    }),
  );
});
