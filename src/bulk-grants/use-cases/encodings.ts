/** The encodings of sheets: their names for people, and how bytes in them become text. */
import { isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
import iconv from "iconv-lite";
import type { SheetEncoding } from "../rules/sheet-reading.ts";

/** Every encoding but UTF-16, whose bytes are made UTF-8 before lines are split (`toUtf8`). */
export type LineEncoding = Exclude<SheetEncoding, "utf-16">;

/**
 * The names that iconv-lite has for encodings. Its tables are those of the Encoding Standard, while
 * ICU's, which Node has, lack most Korean syllables and a part of Big5. For Shift_JIS it is the
 * other way round: iconv-lite lacks a row of private characters.
 */
const iconvNames: Readonly<Record<Exclude<LineEncoding, "utf-8" | "shift_jis">, string>> = {
  "euc-jp": "euc-jp",
  "windows-1252": "windows-1252",
  gbk: "cp936",
  big5: "big5-hkscs",
  "euc-kr": "cp949",
};

/** Stands for bytes that are no character of the encoding. No legacy encoding has it itself. */
const replacement = "\ufffd";

/** Decodes whole characters; undefined when they are not in the encoding. */
export function decodeBytes(bytes: Buffer, encoding: LineEncoding): string | undefined {
  if (encoding === "utf-8") return isUtf8(bytes) ? bytes.toString() : undefined;
  if (encoding === "shift_jis") return decodeShiftJis(bytes);
  // A byte order mark within the sheet is a character of a cell.
  const text = iconv.decode(bytes, iconvNames[encoding], { stripBOM: false });
  return text.includes(replacement) ? undefined : text;
}

const shiftJis = new TextDecoder("shift_jis", { fatal: true });

function decodeShiftJis(bytes: Buffer): string | undefined {
  try {
    return shiftJis.decode(bytes).replace(/\p{Cc}/gu, (each) => exchanged[each] ?? each);
  } catch {
    return undefined;
  }
}

/** The three ASCII characters that ICU's Shift_JIS, which is that of IBM, exchanges. */
const exchanged: Readonly<Record<string, string>> = {
  "\x1c": "\x1a",
  "\x7f": "\x1c",
  "\x1a": "\x7f",
};

/** What stands for a byte that UTF-16 cannot have, because UTF-8 has it nowhere. */
const noUtf8 = Buffer.from([0xff]);

/**
 * Yields a sheet in UTF-16 as UTF-8 without its byte order mark, little endian unless the mark says
 * otherwise. A half of a surrogate pair, or of a unit, becomes a byte that is no UTF-8, so that the
 * line with it is refused like any other. Yields other sheets as they are.
 */
export async function* toUtf8(
  csv: AsyncIterable<Uint8Array>,
  order: (start: Buffer) => "le" | "be" | undefined,
): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  let isStart = true;
  let byteOrder: "le" | "be" | undefined;
  for await (const chunk of csv) {
    if (!isStart && byteOrder === undefined) {
      yield chunk;
      continue;
    }
    let bytes: Buffer = Buffer.concat([rest, chunk]);
    if (isStart && bytes.length < 2) {
      rest = bytes;
      continue;
    }
    if (isStart) byteOrder = order(bytes);
    if (byteOrder === undefined) {
      rest = Buffer.alloc(0);
      isStart = false;
      yield bytes;
      continue;
    }
    const end = endOfUnits(bytes, byteOrder);
    rest = bytes.subarray(end);
    bytes = bytes.subarray(0, end);
    const text = (byteOrder === "be" ? bytes.swap16() : bytes).toString("utf16le");
    yield fromUnits(isStart ? text.replace(/^\ufeff/, "") : text);
    isStart = false;
  }
  if (rest.length > 0) yield byteOrder === undefined ? rest : noUtf8;
}

/** The end of the last whole unit that is no first half of a surrogate pair. */
function endOfUnits(bytes: Buffer, byteOrder: "le" | "be"): number {
  const end = bytes.length - (bytes.length % 2);
  const high = bytes[byteOrder === "le" ? end - 1 : end - 2] ?? 0;
  return high >= 0xd8 && high <= 0xdb ? end - 2 : end;
}

function fromUnits(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  const parts = text.split(/\p{Surrogate}/u).map((part) => Buffer.from(part));
  return Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [noUtf8, part])));
}
