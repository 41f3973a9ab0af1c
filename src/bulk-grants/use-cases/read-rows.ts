/** Reads the rows of a submission: from a sheet, or from messages. */

import { DomainError } from "../../platform/words/errors.ts";
import type { Points } from "../../platform/words/units.ts";
import { maxRows, maxSheetBytes, type SheetCode, type SheetRow } from "../rules/sheet.ts";
import type { SheetEncoding } from "../rules/sheet-reading.ts";
import { createRowCheck, type RowCells, type RowRules } from "./check-row.ts";
import { readSheet, type SheetContext } from "./read-sheet.ts";
import { sheetError } from "./sheet-error.ts";

/** The content of a submission: the bytes of a sheet, or rows. */
export type SheetContent =
  | {
      readonly csv: AsyncIterable<Uint8Array>;
      /** The service or the source that sends it. */
      readonly sender: string;
      /** The encoding of a CSV that the submission names none for, as its source defines it. */
      readonly sourceEncoding?: SheetEncoding | undefined;
    }
  | { readonly rows: AsyncIterable<NewRow> };

/** A row as a message has it. */
export interface NewRow {
  readonly userId: string;
  readonly points: Points;
  readonly reason: string;
  /** Absent or empty for that of the bulk grant, if any. */
  readonly expireMonth?: string | undefined;
}

/**
 * Yields the rows as they arrive. Refusals: those of `readSheet` and `readNewRows`, and
 * INVALID_REQUEST for rows without a sheet with an option that only a sheet has.
 */
export function readRows(content: SheetContent, context: SheetContext): AsyncGenerator<SheetRow> {
  if ("csv" in content) {
    const { csv, ...ofContent } = content;
    return readSheet(csv, { ...context, ...ofContent });
  }
  const field = context.encoding ? "encoding" : context.skipZero ? "skip_zero" : undefined;
  if (field === undefined) return readNewRows(content.rows, context);
  throw new DomainError("INVALID_REQUEST", `${field}: is only for a sheet`, { field });
}

/**
 * Yields the rows with the same problems as `readSheet`; a row's line is its number plus 1, as if
 * there was a header. Refusal: INVALID_REQUEST, with a SheetCode in its metadata, for no rows, too
 * many, more bytes than a sheet may have, or a NUL character, which no sheet can give back.
 */
async function* readNewRows(
  rows: AsyncIterable<NewRow>,
  rules: RowRules,
): AsyncGenerator<SheetRow> {
  const check = createRowCheck(rules);
  let line = 1;
  let byteCount = 0;
  for await (const { userId, points, reason, expireMonth = "" } of rows) {
    line++;
    if (line - 1 > maxRows) throw unusable("TOO_MANY_ROWS", line, `more than ${maxRows} rows`);
    const cells = { userId, points: String(points), reason, expireMonth };
    byteCount += bytesOf(cells);
    if (byteCount > maxSheetBytes) throw unusable("TOO_LARGE", line, "the rows exceed 32 MiB");
    if (`${userId}${reason}${expireMonth}`.includes("\0")) {
      throw unusable("NUL_BYTE", line, "a NUL character");
    }
    yield check(line, cells);
  }
  if (line === 1) throw unusable("EMPTY", line, "there are no rows");
}

/** The bytes of a row in CSV without quotes: its cells, the commas and the end of the line. */
const bytesOf = ({ userId, points, reason, expireMonth }: Record<keyof RowCells, string>): number =>
  Buffer.byteLength(userId) +
  points.length +
  Buffer.byteLength(reason) +
  3 +
  (expireMonth === "" ? 0 : Buffer.byteLength(expireMonth) + 1);

const unusable = (code: SheetCode, line: number, message: string) =>
  sheetError("rows", { code, line, message });
