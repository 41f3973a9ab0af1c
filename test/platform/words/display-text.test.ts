/** Tests what is kept of display texts: between grapheme clusters, and only if one sees it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  cutToBytes,
  maxDisplayNameBytes,
  readDisplayText,
  skeletonOf,
  toDisplayText,
} from "../../../src/platform/words/display-text.ts";
import { anyText } from "../../support/fixtures/any-text.ts";

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

/** Characters by which texts of other people deceive, and those that must survive. */
const hostile = fc.oneof(
  fc.constantFrom("\u0000", "\t", "\r\n", "\u001b", "\u007f", "\u0085", "\u2028", "\u2029"),
  fc.constantFrom("\u061c", "\u200e", "\u200f", "\u202a", "\u202c", "\u202e", "\u2066", "\u2069"),
  fc.constantFrom("\u200b", "\u2060", "\ufeff", "\u00ad", "\u034f", "\ud800", "\udc00"),
  fc.constantFrom("\u3164", "\uffa0", "\u115f", "\u1160", "\u2800", "\u{e0041}", "\u{1d159}"),
  fc.constantFrom("\u0301", "\u20dd", "\u094d", "\u200c", "\u200d", "\ufe0e", "\ufe0f"),
  fc.constantFrom(
    "\u00e9",
    "e\u0301",
    "\uac00",
    "\u1100\u1161",
    "\u304c",
    "\u304b\u3099",
    "\u212b",
  ),
  fc.constantFrom(family, flag, marked, devanagari, thai, "\u2764\ufe0f", "\u{1f44d}\u{1f3fd}"),
  fc.constantFrom(" ", "\u00a0", "\u3000", "a", "Ann", "\u5de1", "\u0639"),
  anyText({ maxLength: 2 }),
);
const hostileText = fc.array(hostile, { maxLength: 40 }).map((parts) => parts.join(""));

const dropped = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u;
const seen = /[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Co}\p{Cn}]/u;
const unseen = /[\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{16fe4}]/gu;

describe("what is kept of any name", () => {
  test("fits, is clean, is visible, and stays when it is kept again", () => {
    fc.assert(
      fc.property(hostileText, fc.integer({ min: 4, max: 120 }), (text, maxBytes) => {
        const kept = toDisplayText(text, maxBytes);
        expect(bytesOf(kept)).toBeLessThanOrEqual(maxBytes);
        expect(kept).not.toMatch(dropped);
        expect(kept.trim()).toBe(kept);
        expect(toDisplayText(kept, maxBytes)).toBe(kept);
        if (kept !== "") expect(kept.replace(unseen, "")).toMatch(seen);
      }),
      { seed: 31, numRuns: 500 },
    );
  });

  test("has every character of a text that fits, but for what is dropped", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const kept = toDisplayText(text, 4_096);
        if (kept === "") return;
        const withoutDropped = (each: string) =>
          Array.from(each).filter((character) => !dropped.test(character) && character.trim());
        expect(withoutDropped(kept)).toEqual(withoutDropped(text));
      }),
      { seed: 32, numRuns: 500 },
    );
  });

  test("is never nothing when its first cluster is visible", () => {
    const first = fc.constantFrom("a", "\u5de1", family, flag, marked, "\u2764\ufe0f", "\uac00");
    fc.assert(
      fc.property(hostileText, first, hostileText, (before, character, after) => {
        const controls = before.replace(/[^\p{Cc}\p{Bidi_Control}]/gu, "");
        const kept = readDisplayText(controls + character + after, maxDisplayNameBytes, "name");
        expect(kept.startsWith(character)).toBe(true);
      }),
      { seed: 33, numRuns: 300 },
    );
  });
});

test("a name that is cut keeps 96 bytes", () => {
  expect(toDisplayText("n".repeat(300), maxDisplayNameBytes)).toBe("n".repeat(96));
});

describe("a text in which nothing is visible is refused, unless it is empty", () => {
  test.each([
    ["U+200B", "\u200b"],
    ["U+3164", "\u3164\u3164"],
    ["a blank", " "],
    ["the blank Braille pattern", "\u2800"],
    ["joiners and selectors", "\u200d\ufe0f\u{e0100}"],
    ["tags", "\u{e0041}\u{e007f}"],
    ["an override alone", "\u202e"],
    ["halves of a character", "\ud83d\ud83d"],
    ["the Hangul jamo fillers", "\u115f\u1160"],
    ["a null note head", "\u{1d159}"],
    ["an interlinear anchor", "\ufff9"],
  ])("%s", (_, text) => {
    expect(() => readDisplayText(text, 96, "title")).toThrow("title: has no visible character");
  });

  test.each([
    ["nothing", ""],
    ["a combining mark alone, which a circle carries", "\u0301"],
    ["a private character", "\uf8ff"],
    ["one that this Unicode does not know", "\u{1fbff}"],
  ])("accepted: %s", (_, text) => {
    expect(readDisplayText(text, 96, "title")).toBe(text);
  });
});

describe("texts that look alike have one skeleton", () => {
  test.each([
    ["case", "Spring", "sPRING"],
    ["width", "Spring 10", "\uff33\uff50ring\u3000\uff11\uff10"],
    ["half-width kana", "\u30ac\u30c1\u30e3", "\uff76\uff9e\uff81\uff6c"],
    ["composed and not", "caf\u00e9", "cafe\u0301"],
    ["a zero-width space", "Spring", "Spr\u200bing"],
    ["an override", "Spring", "\u202eSpring"],
    ["a grapheme joiner between a letter and its mark", "\u00e9", "e\u034f\u0301"],
    ["a variation selector", "\u2764", "\u2764\ufe0f"],
    ["Hangul fillers", "ab", "a\u3164b\uffa0"],
    ["ligatures", "office", "o\ufb03ce"],
    ["capitals of several letters", "STRASSE", "stra\u00dfe"],
    ["blanks", "a b", " a \u00a0 b\t"],
  ])("%s", (_, one, other) => {
    expect(skeletonOf(one)).toBe(skeletonOf(other));
  });

  test.each([
    ["digits", "Spring 10", "Spring 100"],
    ["a mark", "cafe", "caf\u00e9"],
    ["another script", "spring", "spr\u0456ng"],
  ])("and not with other %s", (_, one, other) => {
    expect(skeletonOf(one)).not.toBe(skeletonOf(other));
  });

  test("of any text: it is its own, and that of both normal forms", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const skeleton = skeletonOf(text);
        expect(skeletonOf(skeleton)).toBe(skeleton);
        expect(skeletonOf(text.normalize("NFD"))).toBe(skeleton);
        expect(skeletonOf(text.normalize("NFC"))).toBe(skeleton);
      }),
      { seed: 34, numRuns: 500 },
    );
  });
});
