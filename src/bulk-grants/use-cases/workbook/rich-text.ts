/** Reads the text of an element that may be formatted: a text, or several runs of it. */
import type { XmlHandler } from "./read-xml.ts";
import { tooLargeError } from "./workbook-error.ts";

/** More than a cell of Excel has, whose characters may be escaped. */
const maxTextLength = 256 * 2 ** 10;

/** Adds a piece to the text of a cell. Refusal: TOO_LARGE. */
export function joined(text: string, piece: string): string {
  if (text.length + piece.length > maxTextLength) {
    throw tooLargeError("a cell has a text of 256 KiB");
  }
  return text + piece;
}

interface TextReader extends Pick<Required<XmlHandler>, "onText"> {
  /** Returns the text since the last call. */
  take(): string;
}

/**
 * Collects the text of an element of a path: of `t`, or of `r/t` for each run. The readings of
 * Japanese words (`rPh`) are no part of it.
 */
export function createTextReader(parent: string): TextReader {
  const texts = new Set([`${parent}/t`, `${parent}/r/t`]);
  let text = "";
  return {
    onText(path, piece) {
      if (texts.has(path)) text = joined(text, piece);
    },
    take() {
      const taken = text;
      text = "";
      return taken;
    },
  };
}

/** The text that stands in a file as it is in the cell: `_x000D_` is the character of this code. */
export const unescapeText = (text: string): string =>
  text.includes("_x")
    ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text;
