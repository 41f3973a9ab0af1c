/** Makes records of the rows in the XML of a worksheet. */
import { maxSheetBytes } from "../../rules/sheet.ts";
import type { CellFault, SheetRecord } from "../split-records.ts";
import { cellName, parseCellName } from "./cell-names.ts";
import type { RawCell } from "./cells.ts";
import type { ReadCell } from "./numbers.ts";
import type { AttributeOf, XmlHandler } from "./read-xml.ts";
import { createTextReader, joined } from "./rich-text.ts";
import { tooLargeError, workbookError } from "./workbook-error.ts";

/** The rows of Excel are 1 to this one. */
const maxLine = 2 ** 20;
/** The columns of a sheet with content; it has not even 20 with a name that is known. */
const maxColumns = 256;
/** A row has less than this many bytes, like a line of a CSV. */
const maxRowBytes = 64 * 2 ** 10;

const paths = {
  row: "/worksheet/sheetData/row",
  cell: "/worksheet/sheetData/row/c",
  formula: "/worksheet/sheetData/row/c/f",
  value: "/worksheet/sheetData/row/c/v",
  inline: "/worksheet/sheetData/row/c/is",
  merged: "/worksheet/mergeCells/mergeCell",
};

/** A row that is being read. */
interface OpenRow {
  readonly line: number;
  readonly isHidden: boolean;
  readonly cells: string[];
  readonly faults: Map<number, CellFault>;
  formulaCount: number;
  byteCount: number;
  /** The column of the last cell, with or without content. */
  lastColumn: number;
}

/** A cell that is being read. */
type OpenCell = { -readonly [K in keyof Omit<RawCell, "inlineText">]: RawCell[K] } & {
  readonly column: number;
};

const isTrue = (value: string | undefined): boolean => value === "1" || value === "true";

/** The cells below the first one are empty in the file, and people see its value in them. */
function refuseRows(range = ""): void {
  const [first, last] = range.split(":").map(parseCellName);
  if (first && last?.line === first.line) return;
  throw workbookError(`${range}: cells of several rows are merged; unmerge them`, first?.line);
}

const refuseSecondValue = ({ name, line }: OpenCell): never => {
  throw workbookError(`${name} is damaged: it has two values`, line);
};

/**
 * Returns a handler of the XML, and the function that takes the records which are complete. A row
 * that is not blank is a record; its line is its number in the sheet. It has as many cells as the
 * first one, or more when there is content behind. A cell that is missing is empty. Rows and cells
 * have to be in order, as in every sheet that Excel opens. Refusals: WORKBOOK_UNREADABLE, TOO_LARGE
 * for cells of more than 32 MiB, and those of `readCell`.
 */
export function createRowReader(readCell: (cell: RawCell) => ReadCell) {
  let records: SheetRecord[] = [];
  let [lastLine, byteCount, formulaCount, hiddenRowCount] = [0, 0, 0, 0];
  let width: number | undefined;
  let row: OpenRow | undefined;
  let cell: OpenCell | undefined;
  const inline = createTextReader(paths.inline);

  function openRow(attributeOf: AttributeOf): OpenRow {
    const number = attributeOf("r");
    const line = number === undefined ? lastLine + 1 : Number(number);
    if (!Number.isInteger(line) || line <= lastLine || line > maxLine) {
      throw workbookError(`the row ${number ?? line} follows the row ${lastLine}`, lastLine || 1);
    }
    lastLine = line;
    const isHidden = isTrue(attributeOf("hidden"));
    const counts = { formulaCount: 0, byteCount: 0, lastColumn: -1 };
    return { line, isHidden, cells: [], faults: new Map(), ...counts };
  }

  function openCell({ line, lastColumn }: OpenRow, attributeOf: AttributeOf): OpenCell {
    const name = attributeOf("r") ?? cellName(lastColumn + 1, line);
    const place = parseCellName(name);
    if (place?.line !== line || place.column <= lastColumn) {
      const before = lastColumn < 0 ? `the start of row ${line}` : cellName(lastColumn, line);
      throw workbookError(`the cell ${name} follows ${before}`, line);
    }
    const [type, style] = [attributeOf("t") ?? "n", attributeOf("s")];
    return { name, line, column: place.column, type, style, hasFormula: false, value: undefined };
  }

  function closeCell(open: OpenRow, { column, ...raw }: OpenCell): void {
    open.lastColumn = column;
    if (raw.hasFormula) open.formulaCount += 1;
    const { text, fault, textFault } = readCell({ ...raw, inlineText: inline.take() });
    if (text === "") return;
    if (column >= maxColumns) {
      throw workbookError(`${raw.name}: a sheet has at most ${maxColumns} columns`, open.line);
    }
    const bytes = Buffer.byteLength(text);
    open.byteCount += bytes;
    byteCount += bytes;
    if (byteCount > maxSheetBytes) {
      throw tooLargeError("the cells of the sheet exceed 32 MiB", open.line);
    }
    if (open.byteCount >= maxRowBytes) return;
    while (open.cells.length < column) open.cells.push("");
    open.cells.push(text);
    const message = fault ?? textFault;
    if (message !== undefined) open.faults.set(column, { message, isNumber: fault === undefined });
  }

  function closeRow({ line, cells, faults, byteCount: bytes, ...open }: OpenRow): void {
    const workbook = { faults };
    if (bytes >= maxRowBytes) {
      records.push({ line, cells: [], fault: { code: "LINE_TOO_LONG", rest: "" }, workbook });
    } else if (cells.some((text) => text.trim() !== "")) {
      width ??= cells.length;
      while (cells.length < width) cells.push("");
      records.push({ line, cells, workbook });
      formulaCount += open.formulaCount;
      if (open.isHidden) hiddenRowCount += 1;
    }
  }

  const handler: XmlHandler = {
    onOpen(path, attributeOf) {
      if (path === paths.row) row = openRow(attributeOf);
      else if (path === paths.cell && row) cell = openCell(row, attributeOf);
      else if (path === paths.formula && cell) cell.hasFormula = true;
      else if (path === paths.value && cell?.value !== undefined) refuseSecondValue(cell);
      else if (path === paths.merged) refuseRows(attributeOf("ref"));
    },
    onText(path, text) {
      if (path === paths.value && cell) cell.value = joined(cell.value ?? "", text);
      else inline.onText(path, text);
    },
    onClose(path) {
      if (path === paths.cell && row && cell) closeCell(row, cell);
      else if (path === paths.row && row) closeRow(row);
    },
  };
  return {
    handler,
    /** Of all records: the cells with formulas, and the rows that are hidden or filtered out. */
    counts: () => ({ formulaCount, hiddenRowCount }),
    take(): readonly SheetRecord[] {
      const taken = records;
      records = [];
      return taken;
    },
  };
}
