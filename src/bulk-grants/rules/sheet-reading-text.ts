/** How a sheet was understood, in words, for the people who check, submit and approve it. */
import { formatMonth } from "../../platform/words/month.ts";
import { quantity } from "../../platform/words/quantities.ts";
import type { TextStyle } from "../../platform/words/text-style.ts";
import { points, rows } from "./bulk-grant-text.ts";
import {
  encodingNames,
  type ReadColumn,
  type SampleRow,
  type SheetReading,
} from "./sheet-reading.ts";

const separatorNames = { ",": "commas", ";": "semicolons", "\t": "tabs" } as const;

/**
 * Returns one line, such as "read as CSV in Shift_JIS with commas: user_id = 会員番号, points; line 2:
 * 100 points to aoi for ‘spring’".
 */
export function readingText(reading: SheetReading, style: TextStyle): string {
  const { format, encoding, separator, columns, skippedZeroCount, sample } = reading;
  const { sheetName, formulaCount = 0, hiddenRowCount = 0, otherSheetCount = 0 } = reading;
  const read = columns.filter(({ readAs }) => readAs !== undefined);
  const unread = columns.filter(({ readAs }) => readAs === undefined);
  const form =
    format +
    (encoding ? ` in ${encodingNames[encoding]}` : "") +
    (separator ? ` with ${separatorNames[separator]}` : "") +
    (sheetName ? `, sheet ${style.value(sheetName)}` : "");
  return [
    `read as ${form}: ${read.map((column) => columnText(column, style)).join(", ")}`,
    ...(unread.length > 0
      ? [`not read: ${unread.map(({ name }) => style.value(name)).join(", ")}`]
      : []),
    ...(otherSheetCount > 0 ? [`not read: ${quantity(otherSheetCount, "other sheet")}`] : []),
    ...(hiddenRowCount > 0 ? [`${quantity(hiddenRowCount, "hidden row")} read as well`] : []),
    ...(formulaCount > 0 ? [`${quantity(formulaCount, "formula")} by the stored value`] : []),
    ...(skippedZeroCount > 0 ? [`${rows(skippedZeroCount)} of 0 points left out`] : []),
    ...(sample ? [sampleText(sample, style)] : []),
  ].join("; ");
}

const columnText = ({ name, readAs }: ReadColumn, { value }: TextStyle): string =>
  name === readAs ? name : `${readAs} = ${value(name)}`;

const sampleText = (
  { line, userId, points: count, reason, expireMonth }: SampleRow,
  { value, code }: TextStyle,
): string =>
  `line ${line}: ${points(count)} to ${code(userId)}` +
  (reason === "" ? "" : ` for ‘${value(reason)}’`) +
  (expireMonth === undefined ? "" : ` until the end of ${formatMonth(expireMonth)}`);
