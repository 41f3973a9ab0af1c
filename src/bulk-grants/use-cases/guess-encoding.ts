/** Guesses the encoding of bytes, for the text of a refusal only. */
import type { SheetEncoding } from "../rules/sheet-reading.ts";
import { decodeBytes, type LineEncoding } from "./encodings.ts";

/** An accent: one byte beyond ASCII beside a Latin letter. */
const accents = /(?<=[A-Za-z])[\x80-\xff](?![\x80-\xff])|(?<![\x80-\xff])[\xc0-\xff](?=[a-z])/g;

/** The signs of an encoding: its decoded text has characters of a form, in a part of its length. */
const signs: readonly (readonly [encoding: LineEncoding, form: RegExp, minPart: number])[] = [
  ["euc-jp", /[\u3041-\u30fe]/, 1 / 3],
  ["shift_jis", /[\u3041-\u30fe\uff66-\uff9f]/, 1],
];

/** The pairs of bytes of frequent characters, with punctuation. */
const pairs: readonly (readonly [encoding: SheetEncoding, pair: RegExp])[] = [
  ["euc-kr", /[\xa1-\xac\xb0-\xc8][\xa1-\xfe]/g],
  ["gbk", /[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]/g],
  ["big5", /[\xa1-\xc6][\x40-\x7e\xa1-\xfe]/g],
];

/** Returns the encoding that the bytes look like; undefined when they look like none. */
export function guessEncoding(bytes: Buffer): SheetEncoding | undefined {
  const text = bytes.toString("latin1");
  const runs = text.match(/[\x80-\xff]+/g) ?? [];
  if ((text.match(accents)?.length ?? 0) > runs.length / 2) return "windows-1252";
  for (const [encoding, form, minPart] of signs) {
    const characters = [...(decodeBytes(bytes, encoding) ?? "")].filter((each) => each > "\u007f");
    const count = characters.filter((character) => form.test(character)).length;
    if (count > 0 && count >= characters.length * minPart) return encoding;
  }
  const isAll = (pair: RegExp) => !/[\x80-\xff]/.test(text.replaceAll(pair, ""));
  return pairs.find(([, pair]) => isAll(pair))?.[0];
}
