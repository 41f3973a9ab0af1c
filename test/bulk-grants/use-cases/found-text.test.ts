/** Tests of the words for what was found in a cell. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { foundText } from "../../../src/bulk-grants/use-cases/found-text.ts";
import { anyText } from "../../support/fixtures/any-text.ts";
import { assertSeeds } from "../../support/models/seeded.ts";

test.each([
  ["100", "found `100`"],
  ["１００", "found `１００`: full-width digits"],
  ["ｕ１，", "found `ｕ１，`: full-width digits, full-width characters"],
  ["u 1", "found `u 1`: a blank"],
  ["u1 ", "found `u1 `: a blank at the end"],
  [" u1", "found ` u1`: a blank at the start"],
  [" u1 ", "found ` u1 `: a blank"],
  ["1\u00a0000", "found `1<U+00A0>000`: a no-break space"],
  ["u1\u3000", "found `u1<U+3000>`: an ideographic space at the end"],
  ["u\u20091", "found `u<U+2009>1`: a Unicode space"],
  ["u1\u200b", "found `u1<U+200B>`: a zero-width character at the end"],
  ["u\u20601", "found `u<U+2060>1`: a zero-width character"],
  ["u\ufeff1", "found `u<U+FEFF>1`: a byte order mark"],
  ["u\u00ad1", "found `u<U+00AD>1`: a soft hyphen"],
  ["u\t1", "found `u<U+0009>1`: a tab"],
  ["u\r\n1", "found `u<U+000D><U+000A>1`: a line break"],
  ["u\x071", "found `u<U+0007>1`: a control character"],
  ["u\u24001", "found `u\u24001`: a control picture"],
  ["u1\u200f", "found `u1<U+200F>`: a right-to-left mark at the end"],
  ["\u200eu1", "found `<U+200E>u1`: a left-to-right mark at the start"],
  ["u\u202e1", "found `u<U+202E>1`: a bidirectional control"],
  ["u\u31641", "found `u<U+3164>1`: an invisible character"],
  ["u`1", "found `u'1`"],
])("%j", (cell, text) => {
  expect(foundText(cell)).toBe(text);
});

test("a cell is cut to 64 bytes, and the code of a character is not cut", () => {
  expect(foundText("あ".repeat(30))).toBe(`found \`${"あ".repeat(21)}\``);
  const shown = "<U+0007>".repeat(8);
  expect(foundText("\x07".repeat(30))).toBe(`found \`${shown}\`: a control character`);
});

test("any text has at most 192 bytes, because rows are stored with it", async () => {
  const blanks = fc.constantFrom(" ", "\u00a0", "\u3000", "\ufeff", "\u2066", "\u200b", "\u00ad");
  const cell = fc.array(fc.oneof(blanks, anyText())).map((all) => all.join(""));
  const property = fc.asyncProperty(cell, async (text) => {
    expect(Buffer.byteLength(foundText(text))).toBeLessThanOrEqual(192);
  });
  await assertSeeds(property, [{ seed: 20_261_125, numRuns: 300 }]);
});
