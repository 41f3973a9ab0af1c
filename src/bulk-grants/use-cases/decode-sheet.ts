/** Decodes the bytes of a sheet: UTF-8 with or without BOM, or Shift_JIS as Excel writes it. */
import { isAscii, isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
import { maxSheetBytes, type SheetCode } from "../rules/sheet.ts";
import { sheetError } from "./sheet-error.ts";

/** A line of a sheet has less than this many bytes. */
const maxLineBytes = 64 * 2 ** 10;

/** Stands for a line that is too long, which is not kept. */
export const tooLong = Symbol("a line that is too long");

const lf = 10;
const cr = 13;
const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);
const utf16Boms = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])];
/** How the workbooks of Excel begin: .xlsx and .xls. */
const workbooks = [Buffer.from("PK\u0003\u0004"), Buffer.from([0xd0, 0xcf, 0x11, 0xe0])];

/**
 * Yields the text of a sheet in chunks of whole lines, without the BOM, and `tooLong` for each line
 * of 64 KiB or more. All lines before a fault are yielded before the error, so that the result does
 * not depend on how the bytes are split into chunks. Holds one chunk and one line. Refusals:
 * INVALID_REQUEST with ENCODING_WRONG, NUL_BYTE or TOO_LARGE.
 */
export async function* decodeSheet(
  csv: AsyncIterable<Uint8Array>,
): AsyncGenerator<string | typeof tooLong> {
  const decoder = createLineDecoder();
  let rest: Buffer = Buffer.alloc(0);
  /** The bytes of the line before `rest`, which are not kept because the line is too long. */
  let dropped = 0;
  let byteCount = 0;
  for await (const chunk of csv) {
    const bytes = Buffer.concat([rest, chunk.subarray(0, maxSheetBytes - byteCount)]);
    const end = endOfLines(bytes, rest.length);
    if (end > 0) {
      yield* decodeLines(decoder, bytes.subarray(0, end), dropped);
      dropped = 0;
    }
    rest = bytes.subarray(end);
    if (rest.length > maxLineBytes) {
      decoder.refuseNul(rest);
      dropped += rest.length - 1;
      rest = rest.subarray(-1);
    }
    byteCount += chunk.length;
    if (byteCount > maxSheetBytes) throw decoder.problem("TOO_LARGE", "the sheet exceeds 32 MiB");
  }
  if (rest.length > 0) yield* decodeLines(decoder, rest, dropped);
}

/**
 * Finds where the last whole line ends; without one, 0. The bytes before `known` have no end of a
 * line but a CR at their end. A CR at the end of all bytes may be half of an end.
 */
function endOfLines(bytes: Buffer, known: number): number {
  for (let at = bytes.length - 1; at >= Math.max(known - 1, 0); at--) {
    if (bytes[at] === lf || (bytes[at] === cr && at + 1 < bytes.length)) return at + 1;
  }
  return 0;
}

type LineDecoder = ReturnType<typeof createLineDecoder>;

/**
 * Yields the text of whole lines: of all at once, or one by one up to a fault. The first line has
 * `dropped` bytes more.
 */
function* decodeLines(
  decoder: LineDecoder,
  lines: Buffer,
  dropped: number,
): Generator<string | typeof tooLong> {
  const text = dropped + lines.length < maxLineBytes ? decodeAll(decoder, lines) : undefined;
  if (text !== undefined) {
    yield text;
    return;
  }
  let before = dropped;
  for (const line of split(lines)) {
    yield before + lengthOf(line) < maxLineBytes ? decoder.decode(line) : decoder.skip(line);
    before = 0;
  }
}

/** Returns undefined when one of the lines has a fault. */
function decodeAll(decoder: LineDecoder, lines: Buffer): string | undefined {
  try {
    return decoder.decode(lines);
  } catch {
    return undefined;
  }
}

/** Whether the byte ends a line. CRLF is one end. */
const endsLine = (bytes: Buffer, at: number): boolean =>
  bytes[at] === lf || (bytes[at] === cr && bytes[at + 1] !== lf);

/** Yields each line with what ends it. */
function* split(lines: Buffer): Generator<Buffer> {
  let from = 0;
  for (let at = 0; at < lines.length; at++) {
    if (!endsLine(lines, at) && at + 1 < lines.length) continue;
    yield lines.subarray(from, at + 1);
    from = at + 1;
  }
}

/** The length of a line without what ends it. */
const lengthOf = (line: Buffer): number =>
  line.findLastIndex((byte) => byte !== lf && byte !== cr) + 1;

/** Decodes whole lines: neither LF nor CR is a part of a longer character in either encoding. */
function createLineDecoder() {
  let line = 1;
  /** Undefined as long as all bytes were ASCII, which both encodings have in common. */
  let decoder: TextDecoder | undefined;

  const problem = (code: SheetCode, message: string) => sheetError("csv", { code, line, message });

  /** Decodes the next lines, or throws without any effect on the line number. */
  function decode(lines: Buffer): string {
    const text = textOf(lines);
    pass(lines);
    return text;
  }

  /** Leaves a line out. */
  function skip(lines: Buffer): typeof tooLong {
    refuseNul(lines);
    pass(lines);
    return tooLong;
  }

  function pass(lines: Buffer): void {
    for (let at = 0; at < lines.length; at++) if (endsLine(lines, at)) line++;
  }

  function refuseNul(lines: Buffer): void {
    const begins = (start: Buffer) => line === 1 && lines.subarray(0, start.length).equals(start);
    if (workbooks.some(begins)) throw problem("NUL_BYTE", `the file is a workbook; ${saveAs}`);
    if (utf16Boms.some(begins) || isUtf16(lines))
      throw problem("NUL_BYTE", `the sheet is in UTF-16; ${saveAs}`);
    if (lines.includes(0)) throw problem("NUL_BYTE", "a NUL byte; the sheet has to be text");
  }

  function textOf(lines: Buffer): string {
    if (line === 1 && lines.subarray(0, 3).equals(utf8Bom)) {
      decoder = decoderOf("utf-8");
      return textOf(lines.subarray(3));
    }
    refuseNul(lines);
    if (isAscii(lines)) return lines.toString("latin1");
    decoder ??= decoderOfLine(firstBeyondAscii(lines));
    const text = decoded(decoder, lines);
    if (text === undefined) {
      throw problem("ENCODING_WRONG", "the sheet has to be in UTF-8 or Shift_JIS throughout");
    }
    return decoder.encoding === "shift_jis" ? withAsciiControls(text) : text;
  }

  function decoderOfLine(bytes: Buffer): TextDecoder {
    if (isUtf8(bytes)) return decoderOf("utf-8");
    const shiftJis = decoderOf("shift_jis");
    // Bytes that are not Shift_JIS count as EUC-JP without any kana, too.
    if (isEucJp(bytes, decoded(shiftJis, bytes) === undefined ? 0 : kanaPart)) {
      throw problem("ENCODING_WRONG", `the sheet is in EUC-JP; ${saveAs}`);
    }
    return shiftJis;
  }

  return { decode, skip, refuseNul, problem };
}

const saveAs = "save it as CSV in UTF-8";

/** A part of this size of the bytes of a line in UTF-16 is NUL, even of a line in Japanese. */
const minNulPart = 1 / 10;

/** Whether the bytes are UTF-16, whose ASCII characters have a NUL byte each, all on one side. */
function isUtf16(bytes: Buffer): boolean {
  const first = bytes.indexOf(0);
  if (first < 0) return false;
  const isOneSided = bytes.every((byte, at) => byte !== 0 || (at - first) % 2 === 0);
  const count = bytes.filter((byte) => byte === 0).length;
  return isOneSided && count > 1 && count >= bytes.length * minNulPart;
}

/** Decodes bytes; undefined when they are not in the encoding. */
function decoded(decoder: TextDecoder, bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A part of this size of all characters of Japanese text is hiragana, katakana or punctuation. */
const kanaPart = 1 / 3;

/**
 * Whether a line is EUC-JP rather than Shift_JIS. Its bytes often are both: in Shift_JIS they are
 * half-width katakana. So a part of the characters has to be what is frequent in EUC-JP.
 */
function isEucJp(line: Buffer, minKanaPart: number): boolean {
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
  return kana >= characters * minKanaPart;
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

/** The three ASCII characters that ICU's Shift_JIS, which is that of IBM, exchanges. */
const rotatedControls: Readonly<Record<string, string>> = {
  "\u001c": "\u001a",
  "\u007f": "\u001c",
  "\u001a": "\u007f",
};

/** Undoes this, so that a line of ASCII reads the same whatever lines follow it. */
const withAsciiControls = (text: string): string =>
  text.replace(/\p{Cc}/gu, (control) => rotatedControls[control] ?? control);

// A BOM within the sheet is a character of a cell.
const decoderOf = (encoding: "utf-8" | "shift_jis"): TextDecoder =>
  new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
