/** Decodes the bytes of a sheet: UTF-8 with or without BOM, or Shift_JIS as Excel writes it. */
import { isAscii, isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
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
    byteCount += chunk.length;
    const from = yield* decodeLines(decoder, bytes, rest.length);
    rest = bytes.subarray(from);
    if (byteCount > maxSheetBytes) throw decoder.problem("TOO_LARGE", "the sheet exceeds 32 MiB");
  }
  if (rest.length > 0) yield decoder.decode(rest);
}

/**
 * Yields the text of the whole lines, and returns where the rest begins. Before `searchFrom` there
 * is no end of a line.
 */
function* decodeLines(
  decoder: LineDecoder,
  bytes: Buffer,
  searchFrom: number,
): Generator<string, number> {
  let text = "";
  let from = 0;
  try {
    for (let at = searchFrom; at < bytes.length; at++) {
      if (at - from >= maxLineBytes) {
        throw decoder.problem("CSV_MALFORMED", "the line has more than 64 KiB");
      }
      if (bytes[at] !== lf && bytes[at] !== cr) continue;
      text += decoder.decode(bytes.subarray(from, at + 1));
      from = at + 1;
    }
  } catch (error) {
    yield text;
    throw error;
  }
  yield text;
  return from;
}

type LineDecoder = ReturnType<typeof createLineDecoder>;

/** Decodes line by line: neither LF nor CR is a part of a longer character in either encoding. */
function createLineDecoder() {
  let line = 1;
  let isAfterCr = false;
  /** Undefined as long as all bytes were ASCII, which both encodings have in common. */
  let decoder: TextDecoder | undefined;

  const problem = (
    code: "ENCODING_WRONG" | "NUL_BYTE" | "TOO_LARGE" | "CSV_MALFORMED",
    text: string,
  ) => sheetError("csv", { code, line, message: text });

  /**
   * The first line beyond ASCII decides on the encoding. A whole line decides, and not its first
   * character, because some pairs of half-width katakana are valid UTF-8 as well.
   */
  function textOf(bytes: Buffer): string {
    if (bytes.includes(0)) throw problem("NUL_BYTE", "a NUL byte; the sheet has to be text");
    if (isAscii(bytes)) return bytes.toString("latin1");
    decoder ??= decoderOf(isUtf8(bytes) ? "utf-8" : "shift_jis");
    try {
      return decoder.decode(bytes);
    } catch {
      throw problem("ENCODING_WRONG", "the sheet has to be in UTF-8 or Shift_JIS throughout");
    }
  }

  return {
    problem,
    /** Decodes the next line, which ends with CR or LF unless it is the last one. */
    decode(bytes: Buffer): string {
      const hasBom = line === 1 && !isAfterCr && bytes.subarray(0, 3).equals(utf8Bom);
      if (hasBom) decoder = decoderOf("utf-8");
      const text = textOf(hasBom ? bytes.subarray(3) : bytes);
      const isEndOfCrLf = isAfterCr && bytes.length === 1 && bytes[0] === lf;
      if (!isEndOfCrLf) line++;
      isAfterCr = bytes.at(-1) === cr;
      return text;
    },
  };
}

// A BOM within the sheet is a character of a cell.
const decoderOf = (encoding: "utf-8" | "shift_jis"): TextDecoder =>
  new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
