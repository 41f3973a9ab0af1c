/** Reads how the numbers of a workbook are formatted. */
import { getFormatFromId } from "numfmt";
import { readPart } from "./find-sheet.ts";
import { type NumberReader, numberReader } from "./numbers.ts";
import { workbookError } from "./workbook-error.ts";
import type { Parts } from "./zip-parts.ts";

/** Excel has at most so many formats of cells in a workbook. */
const maxFormats = 2 ** 16;

/** Returns the reader of the numbers of a style, which a cell names by its index. */
export type ReaderOfStyle = (style: string | undefined) => NumberReader;

/** Reads the formats of a workbook; one without styles shows all numbers as they are. */
export async function readStyles(parts: Parts, part: string | undefined): Promise<ReaderOfStyle> {
  const patterns = new Map<number, string>();
  const styles: number[] = [];
  if (part !== undefined) {
    await readPart(parts, part, {
      onOpen(path, attributeOf) {
        const id = Number(attributeOf("numFmtId") ?? 0);
        if (path === "/styleSheet/numFmts/numFmt")
          patterns.set(id, attributeOf("formatCode") ?? "");
        else if (path === "/styleSheet/cellXfs/xf") styles.push(id);
        if (Math.max(patterns.size, styles.length) > maxFormats) {
          throw workbookError("the workbook has more formats than Excel allows");
        }
      },
    });
  }
  const readers = new Map<string | undefined, NumberReader>();
  const create = (style: string | undefined): NumberReader => {
    const id = styles[Number(style ?? 0)] ?? 0;
    return numberReader(patterns.get(id) ?? builtIn(id));
  };
  return (style) => {
    const known = readers.get(style) ?? create(style);
    readers.set(style, known);
    return known;
  };
}

/** The pattern of a format that every workbook has; "General" for the first one. */
const builtIn = (id: number): string => getFormatFromId(id) ?? `[unknown format ${id}]`;
