/** The names of cells in a workbook, such as `B17`. */

/** The columns of Excel are A to XFD. */
const maxColumns = 16_384;
const letters = 26;
const firstLetter = "A".charCodeAt(0);

const nameForm = /^([A-Z]{1,3})([1-9]\d{0,6})$/;

/** The name of the cell of a column, by its index from 0, in a line. */
export function cellName(column: number, line: number): string {
  let name = "";
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / letters)) {
    name = String.fromCharCode(firstLetter + ((rest - 1) % letters)) + name;
  }
  return `${name}${line}`;
}

/** The index of the column, and the line, of the cell of a name. Undefined for what is no name. */
export function parseCellName(
  name: string,
): { readonly column: number; readonly line: number } | undefined {
  const [, columnName = "", line] = nameForm.exec(name) ?? [];
  let number = 0;
  for (const letter of columnName)
    number = number * letters + letter.charCodeAt(0) - firstLetter + 1;
  if (number === 0 || number > maxColumns) return undefined;
  return { column: number - 1, line: Number(line) };
}
