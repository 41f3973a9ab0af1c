/** Finds whether bytes that could be Shift_JIS are Japanese, or text in another encoding. */

/** The kinds of characters by which Japanese is known, and those that speak against it. */
type Kind = "hiragana" | "katakana" | "kanji" | "private" | "half-width" | "other";

/** A run of this many characters or fewer is also what accents in a Latin word look like. */
const maxAccents = 2;

/**
 * Creates a count over the bytes of a sheet in Shift_JIS. Nearly all bytes of other encodings are
 * Shift_JIS as well: "café" ends in a kanji, and Korean is half-width katakana. So only characters
 * count for Japanese that other encodings hardly have: hiragana, and two or more katakana of full
 * width or kanji of level 1 in a row, whose bytes in Shift_JIS begin below A0. Against it count
 * private characters without them, which are "ñ" and Cyrillic, and one or two characters beside a
 * Latin letter or a digit that are half-width, or whose second byte is a Latin letter: those are
 * accents. So do runs that begin as UTF-8 does, whose last character a program has cut. Kanji that
 * are half-width katakana in EUC-JP count for nothing. Whole sheets are counted, so that one
 * accident in many rows decides nothing.
 */
export function createJapaneseCount() {
  let [japanese, others] = [0, 0];

  /** Adds the characters from `start` to the next one that is ASCII, and returns where that is. */
  function addRun(bytes: Buffer, start: number): number {
    let at = start;
    let [length, counted, sameKind] = [0, 0, 0];
    let last: Kind | undefined;
    let [hasPrivate, mayBeAccents, mayBeEuc] = [false, true, true];
    const endKind = () => {
      if (last === "hiragana" || ((last === "katakana" || last === "kanji") && sameKind > 1)) {
        counted += sameKind;
      }
    };
    while (isBeyondAscii(bytes[at])) {
      const kind = kindAt(bytes, at);
      const isDouble = kind !== "half-width";
      if (isDouble && !isLetter(bytes[at + 1])) mayBeAccents = false;
      if (kind === "private") hasPrivate = true;
      if (bytes[at] !== halfWidthOfEuc || !isHalfWidth(bytes[at + 1])) mayBeEuc = false;
      if (kind !== last) {
        endKind();
        [last, sameKind] = [kind, 0];
      }
      sameKind += 1;
      length += 1;
      at += isDouble ? 2 : 1;
    }
    endKind();
    const isBeside = isLetterOrDigit(bytes[start - 1]) || isLetterOrDigit(bytes[at]);
    const isAccents = mayBeAccents && isBeside && length <= maxAccents;
    const isOther = isAccents || (hasPrivate && counted === 0) || beginsAsUtf8(bytes, start);
    if (isOther) others += length;
    else if (!mayBeEuc) japanese += counted;
    return at;
  }

  return {
    /** Adds whole lines that are valid Shift_JIS. */
    add(lines: Buffer): void {
      for (let at = 0; at < lines.length; ) {
        if (isBeyondAscii(lines[at])) at = addRun(lines, at);
        else at += 1;
      }
    },
    isJapanese: () => japanese > others,
  };
}

function kindAt(bytes: Buffer, at: number): Kind {
  const [lead = 0, trail = 0] = [bytes[at], bytes[at + 1]];
  if (isHalfWidth(lead)) return "half-width";
  if (lead >= 0xf0 && lead <= 0xf9) return "private";
  const code = lead * 256 + trail;
  if (code >= 0x829f && code <= 0x82f1) return "hiragana";
  if ((code >= 0x8340 && code <= 0x8396) || code === prolongedSound) return "katakana";
  if ((code >= 0x889f && code <= 0x9872) || code === iterationMark) return "kanji";
  return "other";
}

/** The characters "ー" and "々", which stand among the punctuation. */
const prolongedSound = 0x815b;
const iterationMark = 0x8158;

const isHalfWidth = (byte = 0): boolean => byte >= 0xa0 && byte <= 0xdf;

/** In EUC-JP, half-width katakana have this byte before them. */
const halfWidthOfEuc = 0x8e;

/** Whether there is a character of three bytes in UTF-8, and the start of another one. */
const beginsAsUtf8 = (bytes: Buffer, at: number): boolean =>
  [at, at + 3].every((each) => ((bytes[each] ?? 0) & 0xf0) === 0xe0) &&
  [at + 1, at + 2].every((each) => ((bytes[each] ?? 0) & 0xc0) === 0x80);

const isBeyondAscii = (byte: number | undefined): boolean => byte !== undefined && byte > 0x7f;

const isLetter = (byte = 0): boolean =>
  (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);

const isLetterOrDigit = (byte = 0): boolean => isLetter(byte) || (byte >= 0x30 && byte <= 0x39);
