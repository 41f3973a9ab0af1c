/** Recognises user ids and texts that a spreadsheet program has made of something else. */

/** The error values of Excel, Google Sheets and LibreOffice. */
const errorValue =
  /^(?:#(?:N\/A|REF!|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!|ERROR!|SPILL!|CALC!|FIELD!)|Err:\d{3})$/;

export const isErrorValue = (text: string): boolean => errorValue.test(text);

const month = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const day = "(?:0?[1-9]|[12]\\d|3[01])";
const monthNumber = "(?:0?[1-9]|1[0-2])";

/**
 * What spreadsheet programs make of texts, as they write it. Large numbers have an exponent with a
 * sign and two digits or more, as in `E+08` or pandas' `e+08`: `12E4` is a text of somebody. Months
 * are written as `Jan`: `MAR-12` may be an id.
 */
const changed = new RegExp(
  [
    "^\\d(?:\\.\\d+)?[Ee]\\+\\d{2,3}$",
    `^${day}-${month}(?:-\\d{2}|-\\d{4})?$`,
    `^${month}-\\d{2}$`,
    `^\\d{4}([-/])${monthNumber}\\1${day}(?:[T ].*)?$`,
    `^(?:${monthNumber}/${day}|${day}/${monthNumber})/\\d{4}$`,
    `^(?:\\d{4}年)?${monthNumber}月${day}日$`,
    "^(?:TRUE|FALSE)$",
    "^=",
  ].join("|"),
);

/** Whether a spreadsheet program seems to have changed the text. */
export const looksChanged = (text: string): boolean => isErrorValue(text) || changed.test(text);

/** Whether the text is a whole number that was read as a number and written with a fraction. */
export const hasZeroFraction = (text: string): boolean => /^\d+\.0+$/.test(text);

/** Whether the text has another fraction, so that `1.0` beside it is an id like `1.5`. */
export const hasOtherFraction = (text: string): boolean => /^\d+\.\d*[1-9]\d*$/.test(text);
