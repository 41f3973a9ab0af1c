/** Splits the lines of a sheet into records of cells; a broken quote costs its line only. */

import type { Separator } from "../rules/sheet-reading.ts";

/** A record: a line, or several when a quoted cell has line breaks. */
export interface SheetRecord {
  /** Its number. Blank lines count, and a record of several lines counts once. */
  readonly line: number;
  readonly cells: readonly string[];
  /** Why it cannot be read. Then `cells` has those before the fault. */
  readonly fault?: RecordFault | undefined;
  /** Only of a row of a workbook. */
  readonly workbook?: WorkbookCells | undefined;
}

/** What is known of the cells of a row of a workbook beside their texts. */
interface WorkbookCells {
  /** The cells that are not what people see in them, by the index of their column. */
  readonly faults: ReadonlyMap<number, CellFault>;
}

/** Why the text of a cell cannot be taken. */
export interface CellFault {
  readonly message: string;
  /** Whether it can be taken as points. */
  readonly isNumber: boolean;
}

interface RecordFault {
  readonly code: "QUOTE_NOT_CLOSED" | "CSV_MALFORMED" | "LINE_TOO_LONG";
  /** The text from the fault to the end of the line. */
  readonly rest: string;
}

/** A record of several lines has at most this many characters. */
const maxOpenLength = 2 ** 16;

/** Empty lines, of which a sheet may have millions, or a line and what ends it. */
const linesForm = /[\r\n]+|[^\r\n]+(?:\r\n?|\n|$)/g;
/** A first line that names the separator, as Excel understands it, and what ends it. */
const separatorForm = /^"?sep=([,;\t])"?(?:\r\n?|\n|$)/i;
/** A cell with or without quotes, and what ends it, by the separator. */
const cellForms: Readonly<Record<Separator, RegExp>> = {
  ",": /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r\n?|\n|$)/y,
  ";": /(?:"([^"]*(?:""[^"]*)*)"|([^";\r\n]*))(;|\r\n?|\n|$)/y,
  "\t": /(?:"([^"]*(?:""[^"]*)*)"|([^"\t\r\n]*))(\t|\r\n?|\n|$)/y,
};
/** The start of a quoted cell that goes on in the next line. */
const openForm = /"[^"]*(?:""[^"]*)*$/y;

/**
 * Creates a splitter, to which whole lines are given in order. When a quote is not closed in its
 * line, the lines behind it are held until the record ends, or until it is clear that it does not:
 * at another quote which cannot be in a cell, at the limit, or at the end. Then its first line is a
 * broken record, and the lines behind it are read again as records. Each line is read three times
 * at most, because held lines have an even number of quotes: none of them opens a record of its
 * own. A first line that names the separator is not counted, as spreadsheet programs hide it.
 */
export function createRecordSplitter() {
  let line = 0;
  let separator: Separator | undefined;
  /** The lines of a record whose quote is not closed yet. */
  let open: string[] = [];
  let openLength = 0;

  const read = (text: string): ReadCells => readCells(text, separator ?? ",");

  function record(cells: readonly string[], fault?: RecordFault): SheetRecord {
    line += 1;
    return { line, cells, fault };
  }

  function* giveUp(): Generator<SheetRecord> {
    const [first, ...others] = open;
    open = [];
    openLength = 0;
    if (first === undefined) return;
    const { cells, rest = "" } = read(first);
    yield record(cells, { code: "QUOTE_NOT_CLOSED", rest });
    for (const other of others) yield* addLine(other);
  }

  /** Yields the records that are complete with this line, or with these empty lines. */
  function* addLine(text: string): Generator<SheetRecord> {
    if (line === 0 && separator === undefined && open.length === 0) {
      const [named, value] = separatorForm.exec(text) ?? [];
      separator = (value ?? ",") as Separator;
      if (named !== undefined) return;
    }
    if (open.length === 0 && /^[\r\n]/.test(text)) {
      line += text.length - (text.split("\r\n").length - 1);
      return;
    }
    // Within a quoted cell, a line reads as if it began with the quote.
    const { cells, rest, isOpen } = read(open.length === 0 ? text : `"${text}`);
    if (isOpen && openLength + text.length <= maxOpenLength) {
      open.push(text);
      openLength += text.length;
    } else if (open.length === 0) {
      const code = isOpen ? "QUOTE_NOT_CLOSED" : "CSV_MALFORMED";
      yield record(cells, rest === undefined ? undefined : { code, rest });
    } else if (rest === undefined) {
      const whole = read([...open, text].join(""));
      open = [];
      openLength = 0;
      yield record(whole.cells);
    } else {
      yield* giveUp();
      yield* addLine(text);
    }
  }

  return {
    /** Yields the records that are complete with these lines. */
    *add(lines: string): Generator<SheetRecord> {
      for (const [text] of lines.matchAll(linesForm)) yield* addLine(text);
    },
    /** Yields the records of a line that is too long to be kept, and of those before it. */
    *addTooLong(): Generator<SheetRecord> {
      yield* giveUp();
      yield record([], { code: "LINE_TOO_LONG", rest: "" });
    },
    /** Yields the records of the lines that are held. */
    end: giveUp,
    separator: (): Separator => separator ?? ",",
  };
}

/** The cells of a text, and what follows them if it is no cell: a fault, or an open quote. */
interface ReadCells {
  readonly cells: readonly string[];
  readonly rest?: string | undefined;
  readonly isOpen: boolean;
}

function readCells(text: string, separator: Separator): ReadCells {
  const cellForm = cellForms[separator];
  const cells: string[] = [];
  for (let at = 0; ; ) {
    cellForm.lastIndex = at;
    const match = cellForm.exec(text);
    if (!match) {
      openForm.lastIndex = at;
      const rest = text.slice(at).replace(/[\r\n]+$/, "");
      return { cells, rest, isOpen: openForm.test(text) };
    }
    const [whole, quoted, plain = "", end] = match;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== separator) return { cells, isOpen: false };
    at += whole.length;
  }
}
