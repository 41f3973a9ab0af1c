/** Decodes the bytes of a sheet: UTF-8 with or without BOM, or Shift_JIS as Excel writes it. */
import { isAscii, isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
import type { SheetCode } from "../../domain/sheet.ts";
import { maxSheetBytes } from "../../domain/sheet.ts";
import { sheetError } from "./sheet-error.ts";

/** A line of a sheet has at most this many bytes. */
export const maxLineBytes = 64 * 2 ** 10;

const lf = 10;
const cr = 13;
const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Yields the text of a sheet in pieces of whole lines, without the BOM. All lines before the first
 * faulty one are yielded before the error, so that the result does not depend on how the bytes are
 * split into chunks. Holds one chunk and one line. Refusals: INVALID_REQUEST with ENCODING_WRONG,
 * NUL_BYTE, TOO_LARGE, or CSV_MALFORMED for a line above `maxLineBytes`.
 */
export async function* decodeSheet(csv: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = createLineDecoder();
  let rest: Buffer = Buffer.alloc(0);
  let byteCount = 0;
  for await (const chunk of csv) {
    const bytes = Buffer.concat([rest, chunk.subarray(0, maxSheetBytes - byteCount)]);
    const { end, isTooLong } = findLines(bytes, rest.length);
    if (end > 0) yield* decodeLines(decoder, bytes.subarray(0, end));
    if (isTooLong) throw decoder.problem("CSV_MALFORMED", "the line has more than 64 KiB");
    rest = bytes.subarray(end);
    byteCount += chunk.length;
    if (byteCount > maxSheetBytes) throw decoder.problem("TOO_LARGE", "the sheet exceeds 32 MiB");
  }
  if (rest.length > 0) yield decoder.decode(rest);
}

/** Finds where the last whole line ends. Before `searchFrom` there is no end of a line. */
function findLines(bytes: Buffer, searchFrom: number) {
  let end = 0;
  for (let at = searchFrom; at < bytes.length; at++) {
    if (at - end >= maxLineBytes) return { end, isTooLong: true };
    if (bytes[at] === lf || bytes[at] === cr) end = at + 1;
  }
  return { end, isTooLong: false };
}

type LineDecoder = ReturnType<typeof createLineDecoder>;

/** Yields the text of whole lines, up to the first faulty one. */
function* decodeLines(decoder: LineDecoder, lines: Buffer): Generator<string> {
  let text = "";
  try {
    text = decoder.decode(lines);
  } catch {
    try {
      for (const line of split(lines)) text += decoder.decode(line);
    } catch (error) {
      yield text;
      throw error;
    }
  }
  yield text;
}

/** Yields each line with the CR or LF that ends it. */
function* split(lines: Buffer): Generator<Buffer> {
  let from = 0;
  for (const [at, byte] of lines.entries()) {
    if (byte !== lf && byte !== cr) continue;
    yield lines.subarray(from, at + 1);
    from = at + 1;
  }
}

/** Decodes whole lines: neither LF nor CR is a part of a longer character in either encoding. */
function createLineDecoder() {
  let line = 1;
  let isAfterCr = false;
  /** Undefined as long as all bytes were ASCII, which both encodings have in common. */
  let decoder: TextDecoder | undefined;

  const problem = (code: SheetCode, message: string) => sheetError("csv", { code, line, message });

  /** Decodes the next lines, or throws without any effect on the line number. */
  function decode(lines: Buffer): string {
    const text = textOf(lines);
    for (const byte of lines) {
      if (byte === cr || (byte === lf && !isAfterCr)) line++;
      isAfterCr = byte === cr;
    }
    return text;
  }

  function textOf(lines: Buffer): string {
    if (line === 1 && lines.subarray(0, 3).equals(utf8Bom)) {
      decoder = decoderOf("utf-8");
      return textOf(lines.subarray(3));
    }
    if (lines.includes(0)) throw problem("NUL_BYTE", nulText(lines));
    if (isAscii(lines)) return lines.toString("latin1");
    decoder ??= decoderOfLine(firstBeyondAscii(lines));
    try {
      const text = decoder.decode(lines);
      return decoder.encoding === "shift_jis" ? withAsciiControls(text) : text;
    } catch {
      throw problem("ENCODING_WRONG", "the sheet has to be in UTF-8 or Shift_JIS throughout");
    }
  }

  function decoderOfLine(bytes: Buffer): TextDecoder {
    if (isUtf8(bytes)) return decoderOf("utf-8");
    if (isEucJp(bytes)) throw problem("ENCODING_WRONG", `the sheet is in EUC-JP; ${saveAs}`);
    return decoderOf("shift_jis");
  }

  return { decode, problem };
}

const saveAs = "save it as CSV in UTF-8";

/** Says that the bytes are UTF-16, whose ASCII characters have a NUL byte each, or no text. */
function nulText(lines: Buffer): string {
  const [first, second] = lines;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const isAlternating = lines.length > 3 && (lines[0] === 0) !== (lines[1] === 0);
  return isUtf16 || isAlternating
    ? `the sheet is in UTF-16; ${saveAs}`
    : "a NUL byte; the sheet has to be text";
}

/** A part of this size of all characters of Japanese text is hiragana, katakana or punctuation. */
const kanaPart = 1 / 3;

/**
 * Whether a line is EUC-JP rather than Shift_JIS. Its bytes often are both: in Shift_JIS they are
 * half-width katakana. So a part of the characters has to be what is frequent in EUC-JP.
 */
function isEucJp(line: Buffer): boolean {
  let [characters, kana] = [0, 0];
  for (let at = 0; at < line.length; at++) {
    const lead = line[at] as number;
    if (lead <= 0x7f) continue;
    at += 1;
    const isPair = lead >= 0xa1 && lead <= 0xfe && (line[at] ?? 0) >= 0xa1;
    if (!isPair) return false;
    characters += 1;
    if (lead === 0xa1 || lead === 0xa4 || lead === 0xa5) kana += 1;
  }
  return kana >= characters * kanaPart;
}

/**
 * Returns the first line beyond ASCII, which decides on the encoding. A whole line decides, and not
 * its first character, because some pairs of half-width katakana are valid UTF-8 as well.
 */
function firstBeyondAscii(lines: Buffer): Buffer {
  const first = lines.findIndex((byte) => byte > 0x7f);
  const isEnd = (byte: number) => byte === lf || byte === cr;
  const from = lines.subarray(0, first).findLastIndex(isEnd) + 1;
  const length = lines.subarray(first).findIndex(isEnd);
  return lines.subarray(from, length < 0 ? lines.length : first + length);
}

/** What ICU's Shift_JIS, which is that of IBM, makes of three ASCII characters. */
const rotatedControls: Readonly<Record<string, string>> = {
  "\u001c": "\u001a",
  "\u007f": "\u001c",
  "\u001a": "\u007f",
};

/** Undoes this, so that a line of ASCII reads the same with and without others behind it. */
const withAsciiControls = (text: string): string =>
  text.replace(/\p{Cc}/gu, (control) => rotatedControls[control] ?? control);

// A BOM within the sheet is a character of a cell.
const decoderOf = (encoding: "utf-8" | "shift_jis"): TextDecoder =>
  new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
