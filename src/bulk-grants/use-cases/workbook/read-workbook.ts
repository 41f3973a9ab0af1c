/** Reads the records of the first visible sheet of a workbook of Excel (.xlsx). */
import { maxSheetBytes } from "../../rules/sheet.ts";
import type { SheetRecord } from "../split-records.ts";
import { createCellReader } from "./cells.ts";
import { findSheet } from "./find-sheet.ts";
import { type HeldBytes, holdBytes } from "./held-bytes.ts";
import { readXml } from "./read-xml.ts";
import { createRowReader } from "./rows.ts";
import { readSharedStrings } from "./shared-strings.ts";
import { readStyles } from "./styles.ts";
import { tooLargeError } from "./workbook-error.ts";
import { openParts } from "./zip-parts.ts";

/** Every workbook begins like this, as a zip file with an entry does. */
const begin = Buffer.from("PK\u0003\u0004");

/** Whether the bytes at the start of a file are those of a workbook. */
export const isWorkbook = (start: Uint8Array): boolean =>
  begin.equals(start.subarray(0, begin.length));

/** A workbook that is being read. */
interface ReadWorkbook {
  /** The rows of the sheet that are not blank, in order, with the texts of their cells. */
  readonly records: AsyncGenerator<SheetRecord>;
  /** How the workbook was understood, once all records are read. */
  form(): WorkbookForm;
}

interface WorkbookForm {
  readonly format: "XLSX";
  /** The name of the sheet on its tab. */
  readonly sheetName: string;
  /** The cells of its records that have formulas, whose stored values are read. */
  readonly formulaCount: number;
  /** Its records that are hidden or filtered out, the first line among them. */
  readonly hiddenRowCount: number;
  /** The other visible sheets, which are not read. */
  readonly otherSheetCount: number;
}

/**
 * Reads the first visible sheet of a workbook that somebody sends. Holds the file, whose directory
 * is at its end, and the shared strings, but never the inflated sheet. Reading throws
 * INVALID_REQUEST with WORKBOOK_UNREADABLE or TOO_LARGE, and OVERLOADED as `holdBytes`.
 */
export function readWorkbook(bytes: AsyncIterable<Uint8Array>, sender: string): ReadWorkbook {
  let [sheetName, otherSheetCount] = ["", 0];
  let counts = { formulaCount: 0, hiddenRowCount: 0 };

  async function* records(): AsyncGenerator<SheetRecord> {
    const held = holdBytes(sender);
    try {
      const parts = await openParts(await collect(bytes, held));
      const found = await findSheet(parts);
      ({ sheetName, otherSheetCount } = found);
      const readerOfStyle = await readStyles(parts, found.styles);
      const { sharedStrings } = found;
      const strings =
        sharedStrings === undefined
          ? undefined
          : await readSharedStrings(sharedStrings, parts.read(sharedStrings), held);
      const rows = createRowReader(createCellReader(strings, readerOfStyle));
      const parsed = readXml(found.sheet, parts.read(found.sheet), rows.handler);
      for await (const _ of parsed) {
        yield* rows.take();
        counts = rows.counts();
      }
    } finally {
      held.release();
    }
  }
  const form = (): WorkbookForm => ({ format: "XLSX", sheetName, otherSheetCount, ...counts });
  return { records: records(), form };
}

async function collect(bytes: AsyncIterable<Uint8Array>, held: HeldBytes): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > maxSheetBytes) throw tooLargeError("the workbook exceeds 32 MiB");
    held.add(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
