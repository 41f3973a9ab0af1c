/**
 * Keeps spreadsheet programs from executing a cell as a formula (CSV injection): an apostrophe
 * before the cell makes it text. Reading a sheet takes the apostrophe away again.
 */

// The last four characters are the full-width forms, which some programs treat alike.
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/;

/**
 * Puts an apostrophe before a cell that starts like a formula. A cell that starts like a formula
 * after apostrophes gets one more, so that `restoreCell` returns every cell as it was.
 */
export const neutraliseCell = (cell: string): string => (formula.test(cell) ? `'${cell}` : cell);

/** Removes the apostrophe that `neutraliseCell` puts before a cell. */
export const restoreCell = (cell: string): string =>
  cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;
