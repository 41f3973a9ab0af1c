/** Reads numbers of a workbook: exactly, and as people see them. */
import { format, getFormatInfo, isValidFormat } from "numfmt";
import { cutToBytes } from "../../../platform/words/display-text.ts";

/** The text of a cell, and why it cannot be taken, or only as points. */
export interface ReadCell {
  readonly text: string;
  /** Why no column can have it. */
  readonly fault?: string | undefined;
  /** Why only points can have it: other texts would not be what people see. */
  readonly textFault?: string | undefined;
}

/** Reads the stored value of a number by its format. */
export type NumberReader = (stored: string) => ReadCell;

/** Excel keeps this many digits of a number, and makes the others zeros. */
const maxDigits = 15;

/** A longer pattern than Excel's, which is not parsed. */
const maxPatternLength = 255;

/** What is shown is cut to this many bytes in a message, which is stored with its row. */
const maxShownBytes = 64;

const numberForm = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * Returns the decimal digits of a stored number, such as 821541000 of `8.21541E+08`. Undefined for
 * what is no number, or has more digits than Excel keeps.
 */
function exactDecimal(stored: string): string | undefined {
  const [, sign, whole = "", fraction = "", exponent = "0"] = numberForm.exec(stored) ?? [];
  const digits = whole + fraction;
  if (digits === "") return undefined;
  const significant = digits.replace(/^0+/, "").replace(/0+$/, "");
  if (significant === "") return "0";
  const leadingZeros = digits.length - digits.replace(/^0+/, "").length;
  // The digits stand before the point, or behind it when the place is negative.
  const place = whole.length - leadingZeros + Number(exponent);
  const decimals = Math.max(0, significant.length - place);
  if (Math.max(significant.length, Math.abs(place)) > maxDigits) return undefined;
  const padded = significant.padEnd(place, "0").padStart(decimals + 1, "0");
  const point = padded.length - decimals;
  const text = decimals > 0 ? `${padded.slice(0, point)}.${padded.slice(point)}` : padded;
  return sign === "-" ? `-${text}` : text;
}

/**
 * Returns the reader of the numbers of a format. A date is none; neither is what shows another
 * number than it has, such as a percentage. Leading zeros of the format are a part of the text.
 */
export function numberReader(pattern: string | undefined): NumberReader {
  const read = pattern === undefined ? (text: string) => ({ text }) : shownReader(pattern);
  return (stored) => {
    const text = exactDecimal(stored);
    if (text !== undefined) return read(text);
    const fault = Number.isFinite(Number(stored))
      ? `a number of more than ${maxDigits} digits, of which Excel keeps ${maxDigits}; ${asText}`
      : "a number that cannot be read";
    return { text: stored, fault };
  };
}

/** What to do with a cell that is not to be a number. */
export const asText = "format the column as text, and write it again";

function shownReader(pattern: string): NumberReader {
  const kind = kindOf(pattern);
  if (kind === "plain") return (text) => ({ text });
  if (kind === "date") return (text) => ({ text, fault: `a date; ${asText}` });
  if (kind === "unknown") return (text) => ({ text, fault: "a number format that is not known" });
  return (text) => compared(text, format(pattern, Number(text)).trim());
}

type Kind = "plain" | "date" | "unknown" | "shown";

function kindOf(pattern: string): Kind {
  if (/^general$/i.test(pattern)) return "plain";
  if (pattern.length > maxPatternLength || !isValidFormat(pattern)) return "unknown";
  const { type, isDate, isText } = getFormatInfo(pattern);
  if (isDate) return "date";
  return isText || type === "scientific" ? "plain" : "shown";
}

/** Compares the digits of a number with what is shown for it. */
function compared(text: string, shown: string): ReadCell {
  if (shown === text) return { text };
  const fault = `the number ${text}, shown as \`${cutToBytes(shown, maxShownBytes)}\`; ${asText}`;
  const numbers = shown.match(/\d[\d,]*(?:\.\d+)?/g) ?? [];
  const [number = ""] = numbers;
  const isSame = Number(number.replaceAll(",", "")) === Math.abs(Number(text));
  // Red digits may be all that shows a negative number.
  const hasSign = !text.startsWith("-") || shown !== number;
  if (numbers.length !== 1 || !isSame || !hasSign) return { text, fault };
  if (/^\d+$/.test(shown)) return { text: shown };
  const rest = shown.replace(number, "").trim();
  if ((rest === "" || rest === "-") && !/^0\d/.test(number)) return { text };
  return { text, textFault: fault };
}
