/** The warnings of a sheet: what may be a mistake although no rule is broken, and their texts. */
import { nounFor, quantity } from "../../platform/words/quantities.ts";
import type { TextStyle } from "../../platform/words/text-style.ts";
import type { WarningCode } from "../../points/rules/bulk-rules.ts";

/** A warning, and the rows that it is about. */
export interface SheetWarning {
  readonly code: WarningCode;
  /** 1 or more. */
  readonly rowCount: number;
  /** The lines of the first `maxWarnedLines` rows. */
  readonly lines: readonly number[];
  /** An example of the rows, or the number that the text of the code compares with. */
  readonly detail: string;
}

export const maxWarnedLines = 5;

/** The texts by their codes. `detail` is inserted. */
const texts = {
  IDS_CHANGED: (count, { code }, id) =>
    `${quantity(count, "user id")} ${nounFor(count, "looks", "look")} changed by a spreadsheet ` +
    `program, such as ${code(id)}`,
  LEADING_ZEROS_LOST: (count, { code }, id) =>
    `${quantity(count, "user id")} ${nounFor(count, "seems", "seem")} to have lost leading ` +
    `zeros, such as ${code(id)}`,
  LAST_ROW_IS_SUM: (_, __, points) =>
    `the last row has the sum of all others, ${quantity(Number(points), "point")}`,
  WITHOUT_ACCOUNT: (count, _, users) =>
    `${count.toLocaleString("en")} of ${quantity(Number(users), "user")} ` +
    `${nounFor(count, "has", "have")} no account, though the program has many`,
  FAR_MORE_POINTS: (count, _, points) =>
    `${quantity(count, "row")} ${nounFor(count, "has", "have")} ten times the ` +
    `${quantity(Number(points), "point")} of nearly all others, or more`,
  REASON_ERROR_VALUE: (count, { code }, reason) =>
    `${quantity(count, "reason")} ${nounFor(count, "is an error value", "are error values")} of ` +
    `a spreadsheet program, such as ${code(reason)}`,
  POINTS_ZERO: (count) => `${quantity(count, "row")} ${nounFor(count, "has", "have")} 0 points`,
} as const satisfies Record<
  WarningCode,
  (count: number, style: Pick<TextStyle, "code">, detail: string) => string
>;

/** Says a warning in words: its code, what may be wrong, and the first lines. */
export function sheetWarningText(
  warning: SheetWarning,
  style: Pick<TextStyle, "code" | "strong">,
): string {
  const { code, rowCount, lines, detail } = warning;
  const more = rowCount - lines.length;
  const where = `${nounFor(rowCount, "line")} ${lines.join(", ")}`;
  const rest = more > 0 ? ` and ${more.toLocaleString("en")} more` : "";
  const text = `${code}: ${texts[code](rowCount, style, detail)}; ${where}${rest}`;
  return isStressed(warning) ? style.strong(text) : text;
}

/** Texts stress that more than this part of the users has no account. */
const stressedPart = 0.2;

/** Whether texts stress a warning. */
export const isStressed = ({ code, rowCount, detail }: SheetWarning): boolean =>
  code === "WITHOUT_ACCOUNT" && rowCount > Number(detail) * stressedPart;
