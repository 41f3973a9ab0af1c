/** Reads the cells of a workbook as texts. */
import { sheetError } from "../sheet-error.ts";
import { asText, type ReadCell } from "./numbers.ts";
import { unescapeText } from "./rich-text.ts";
import type { SharedStrings } from "./shared-strings.ts";
import type { ReaderOfStyle } from "./styles.ts";
import { workbookError } from "./workbook-error.ts";

/** A cell as the file has it. */
export interface RawCell {
  /** Such as `B17`. */
  readonly name: string;
  readonly line: number;
  /** How its value is stored. */
  readonly type: string;
  readonly style: string | undefined;
  readonly hasFormula: boolean;
  /** The stored value; undefined without one. */
  readonly value: string | undefined;
  /** The text that stands in the cell itself. */
  readonly inlineText: string;
}

const booleans: Readonly<Record<string, string>> = { "0": "FALSE", "1": "TRUE" };

/**
 * Returns the function that reads a cell: a text as it is, a formula by its stored value, a truth
 * value as TRUE or FALSE, an error by its name, such as `#REF!`, and a number as `numberReader` has
 * it. Refusal: WORKBOOK_UNREADABLE for what no program that writes workbooks stores.
 */
export function createCellReader(strings: SharedStrings | undefined, readerOfStyle: ReaderOfStyle) {
  function sharedText(cell: RawCell, index: string): string {
    const text = /^\d+$/.test(index) ? strings?.at(Number(index)) : undefined;
    if (text === undefined) throw damaged(cell, `there is no shared string ${index}`);
    return text;
  }

  function readValue(cell: RawCell, value: string): ReadCell {
    switch (cell.type) {
      case "s":
        return { text: decoded(cell, sharedText(cell, value)) };
      case "str":
        return { text: decoded(cell, value) };
      case "b": {
        const text = booleans[value];
        if (text === undefined) throw damaged(cell, "a truth value is 0 or 1");
        return { text };
      }
      case "e":
        return { text: value };
      case "d":
        return { text: value, fault: `a date; ${asText}` };
      case "n":
        return readerOfStyle(cell.style)(value);
      default:
        throw damaged(cell, "its type is not known");
    }
  }

  return (cell: RawCell): ReadCell => {
    const { type, value, hasFormula } = cell;
    if (type === "inlineStr") {
      if (value) throw damaged(cell, "it has a text, and another value");
      return { text: decoded(cell, cell.inlineText) };
    }
    const isTextFormula = type === "str" && hasFormula;
    if (hasFormula && !value && !isTextFormula) return { text: "=", fault: noValue };
    return value ? readValue(cell, value) : { text: "" };
  };
}

const noValue = "a formula without a stored value; open the workbook in Excel and save it";

/** The text of a cell without escapes, which may stand for what no text has. */
function decoded(cell: RawCell, stored: string): string {
  const text = unescapeText(stored);
  if (!text.isWellFormed()) throw damaged(cell, "half of a surrogate pair is no character");
  if (text.includes("\0")) {
    const { line, name } = cell;
    throw sheetError("csv", { code: "NUL_BYTE", line, message: `${name}: a NUL character` });
  }
  return text;
}

const damaged = ({ name, line }: RawCell, what: string) =>
  workbookError(`${name} is damaged: ${what}`, line);
