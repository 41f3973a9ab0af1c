/** Tests that display texts are cut between grapheme clusters. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutToBytes } from "../../src/domain/display-text.ts";
import { anyText } from "../support/fixtures/any-text.ts";

const bytesOf = (text: string) => Buffer.byteLength(text);

/** Four people, joined by zero-width joiners: 25 bytes. */
const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}";
/** Two regional indicators of 4 bytes each. */
const flag = "\u{1f1ef}\u{1f1f5}";
/** A letter with two combining marks: 5 bytes. */
const marked = "e\u0323\u0302";
/** The consonants k and ss, joined by a virama, with a vowel sign: 12 bytes. */
const devanagari = "\u0915\u094d\u0937\u093f";
/** A consonant with a vowel sign and a tone mark: 9 bytes. */
const thai = "\u0e17\u0e35\u0e48";
/** A base letter with a dakuten of its own: 6 bytes. */
const dakuten = "\u304b\u3099";

describe("a cluster that does not fit is left out whole", () => {
  test.each([
    ["a letter", "n".repeat(65), 64, "n".repeat(64)],
    ["a Japanese character", "日本語", 8, "日本"],
    ["a family, one byte short", `a${family}`, 25, "a"],
    ["a skin tone", "a\u{1f44d}\u{1f3fd}", 6, "a"],
    ["the second of three flags", flag.repeat(3), 15, flag],
    ["combining marks", `o${marked}`, 4, "o"],
    ["a Devanagari conjunct, before its vowel sign", `\u0928${devanagari}`, 12, "\u0928"],
    ["a Thai tone mark", `\u0e01${thai}`, 11, "\u0e01"],
    ["a Hangul syllable of three letters", "a\u1112\u1161\u11ab", 9, "a"],
  ])("%s", (_, text, maxBytes, kept) => {
    expect(cutToBytes(text, maxBytes)).toBe(kept);
    expect(cutToBytes(text, bytesOf(text))).toBe(text);
  });
});

describe("of a first cluster that does not fit, whole code points are kept", () => {
  test.each([
    ["a letter with many marks", `e${"\u0301".repeat(40)}`, 64, `e${"\u0301".repeat(31)}`],
    ["a family of which one person fits", family, 6, family.slice(0, 2)],
    ["a flag", flag, 7, "\u{1f1ef}"],
    ["nothing, if not even one fits", family, 3, ""],
  ])("%s", (_, text, maxBytes, kept) => {
    expect(cutToBytes(text, maxBytes)).toBe(kept);
  });
});

describe("any text", () => {
  const part = fc.oneof(
    fc.constantFrom(family, flag, marked, devanagari, thai, dakuten, "a", "日", "\r\n"),
    fc.constantFrom("\u200d", "\u0301", "\u{1f1ef}", "\u{1f468}", "\u{1f3fd}", "\u094d"),
    anyText({ maxLength: 3 }),
    fc.string({ unit: "grapheme", maxLength: 3 }),
  );
  const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""));
  const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

  test("keeps all leading clusters that fit, or else all leading code points", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 4, max: 80 }), (given, maxBytes) => {
        const kept = cutToBytes(given, maxBytes);
        expect(given.startsWith(kept)).toBe(true);
        expect(bytesOf(kept)).toBeLessThanOrEqual(maxBytes);
        expect(kept === "").toBe(given === "");
        if (kept === given) return;
        const clusters = Array.from(segmenter.segment(given), ({ segment }) => segment);
        const [first = ""] = clusters;
        const parts = bytesOf(first) <= maxBytes ? clusters : [...first];
        const beginnings = parts.map((_, i) => parts.slice(0, i).join(""));
        const index = beginnings.indexOf(kept);
        expect(index).toBeGreaterThan(0);
        expect(bytesOf(kept + parts[index])).toBeGreaterThan(maxBytes);
      }),
      { numRuns: 2_000 },
    );
  });
});
