/** Decodes the bytes of a sheet, in the encoding that is named or that the bytes certainly have. */
import { isAscii, isUtf8 } from "node:buffer";
import type { DomainError } from "../../platform/words/errors.ts";
import { maxSheetBytes, type SheetCode } from "../rules/sheet.ts";
import { encodingNames, type SheetEncoding } from "../rules/sheet-reading.ts";
import { decodeBytes, type LineEncoding, toUtf8 } from "./encodings.ts";
import { guessEncoding } from "./guess-encoding.ts";
import { createJapaneseCount } from "./japanese-bytes.ts";
import { sheetError } from "./sheet-error.ts";

/** A line of a sheet has less than this many bytes. */
const maxLineBytes = 64 * 2 ** 10;

/** Stands for a line that is too long, which is not kept. */
export const tooLong = Symbol("a line that is too long");

const lf = 10;
const cr = 13;
const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);
/** How the workbooks of Excel begin that are not read: .xls, and those with a password. */
const oldWorkbook = Buffer.from([0xd0, 0xcf, 0x11, 0xe0]);

/** The text of a sheet, and its encoding. */
interface SheetText {
  /**
   * Yields the text in chunks of whole lines, without the BOM, and `tooLong` for each line of 64
   * KiB or more. All lines before a fault are yielded before the error, so that the result does not
   * depend on how the bytes are split into chunks. Holds one chunk and one line. Refusals:
   * INVALID_REQUEST with ENCODING_WRONG, NUL_BYTE or TOO_LARGE.
   */
  readonly chunks: AsyncGenerator<string | typeof tooLong>;
  /** The encoding, once all chunks are read; before that, as far as it is known. */
  encoding(): SheetEncoding;
}

/**
 * Decodes a sheet in the encoding that is `named`, or else in UTF-8, in UTF-16 with its BOM, or in
 * Shift_JIS, which is certain only at the end: then a sheet is refused that is not Japanese.
 */
export function decodeSheet(
  csv: AsyncIterable<Uint8Array>,
  named: SheetEncoding | undefined,
): SheetText {
  let isUtf16 = false;
  const bytes = toUtf8(csv, (start) => {
    const order = byteOrderOf(start);
    if (named !== "utf-16" && (named !== undefined || order === undefined)) return undefined;
    isUtf16 = true;
    return order ?? "le";
  });
  const decoder = createLineDecoder(named === "utf-16" ? "utf-8" : named);
  return {
    chunks: decodeChunks(bytes, decoder),
    encoding: () => (isUtf16 ? "utf-16" : decoder.encoding()),
  };
}

/** The byte order by the BOM of UTF-16; undefined without one. */
const byteOrderOf = (start: Buffer): "le" | "be" | undefined => {
  const isLittle = start[0] === 0xff && start[1] === 0xfe;
  return isLittle ? "le" : start[0] === 0xfe && start[1] === 0xff ? "be" : undefined;
};

async function* decodeChunks(
  csv: AsyncIterable<Uint8Array>,
  decoder: LineDecoder,
): AsyncGenerator<string | typeof tooLong> {
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
  decoder.end();
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

/** A guess looks at so many bytes of the first line beyond ASCII. */
const maxGuessBytes = 2 ** 10;

/** Decodes whole lines: neither LF nor CR is a part of a longer character in any encoding. */
function createLineDecoder(named: LineEncoding | undefined) {
  let line = 1;
  /** Undefined as long as all bytes were ASCII, which all encodings have in common. */
  let encoding = named;
  const count = createJapaneseCount();
  /** The first line beyond ASCII of a sheet that may be Shift_JIS, and the lines before it. */
  let doubtful: FoundLine | undefined;

  const problem = (code: SheetCode, message: string, at = line) =>
    sheetError("csv", { code, line: at, message });

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
    if (begins(oldWorkbook)) throw problem("NUL_BYTE", oldWorkbookText);
    if ((line === 1 && byteOrderOf(lines)) || isUtf16(lines))
      throw problem("NUL_BYTE", `the sheet is in UTF-16; name it, or ${saveAs}`);
    if (lines.includes(0)) throw problem("NUL_BYTE", "a NUL byte; the sheet has to be text");
  }

  function textOf(lines: Buffer): string {
    if (line === 1 && lines.subarray(0, 3).equals(utf8Bom)) {
      encoding ??= "utf-8";
      if (encoding === "utf-8") return textOf(lines.subarray(3));
      const name = encodingNames[encoding];
      throw problem("ENCODING_WRONG", `the sheet begins with the BOM of UTF-8, and is not ${name}`);
    }
    refuseNul(lines);
    if (isAscii(lines)) return lines.toString("latin1");
    encoding ??= encodingFrom(lines);
    const text = decodeBytes(lines, encoding);
    if (text === undefined) throw wrong();
    if (doubtful) count.add(lines);
    return text;
  }

  function encodingFrom(lines: Buffer): LineEncoding {
    const first = firstBeyondAscii(lines);
    if (isUtf8(first.bytes)) return "utf-8";
    doubtful = { bytes: Buffer.from(first.bytes), before: line - 1 + first.before };
    return "shift_jis";
  }

  function wrong(at = line): DomainError {
    if (!doubtful || count.isJapanese()) {
      const name = encodingNames[encoding ?? "utf-8"];
      return problem("ENCODING_WRONG", `this line is not in ${name}, as the sheet has to be`, at);
    }
    const guess = guessEncoding(doubtful.bytes.subarray(0, maxGuessBytes));
    const looks = guess ? `looks like ${encodingNames[guess]}` : "is not certain";
    return problem("ENCODING_WRONG", `the encoding ${looks}; name it, or ${saveAs}`, at);
  }

  /** Ends the sheet. Refuses one that may be Shift_JIS, and is not certainly Japanese. */
  function end(): void {
    if (doubtful && !count.isJapanese()) throw wrong(doubtful.before + 1);
  }

  return { decode, skip, refuseNul, problem, end, encoding: () => encoding ?? "utf-8" };
}

const saveAs = "save it as CSV in UTF-8";

const oldWorkbookText =
  "the file is an old workbook (.xls), or one with a password; save it as .xlsx without a " +
  "password, or as CSV in UTF-8";

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

/** A line, and how many lines there are before it. */
interface FoundLine {
  readonly bytes: Buffer;
  readonly before: number;
}

/**
 * Returns the first line beyond ASCII, which decides on the encoding. A whole line decides, and not
 * its first character, because some pairs of half-width katakana are valid UTF-8 as well.
 */
function firstBeyondAscii(lines: Buffer): FoundLine {
  const first = lines.findIndex((byte) => byte > 0x7f);
  let [from, before] = [0, 0];
  for (let at = 0; at < first; at++) {
    if (!endsLine(lines, at)) continue;
    from = at + 1;
    before += 1;
  }
  const length = lines.subarray(first).findIndex((byte) => byte === lf || byte === cr);
  return { bytes: lines.subarray(from, length < 0 ? lines.length : first + length), before };
}
