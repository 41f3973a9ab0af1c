/** How the rows of an upload, and what is wrong with them, are stored. */
import {
  field,
  list,
  map,
  number,
  oneOf,
  optional,
  text,
} from "../../../platform/dynamodb/fields.ts";
import {
  type Item,
  numbers,
  nums,
  strings,
  texts,
} from "../../../platform/dynamodb/sdk/attributes.ts";
import type { BlockProblem } from "../../ports/bulk-grants.ts";
import type { RowCode, RowProblem, SheetRow } from "../../rules/sheet.ts";

/**
 * The attributes of a block of rows: lists of lines, users, points, reasons and, if any row has
 * one, months of expiry, and a map for each row that has more. Values of a list are stored as they
 * are. A JSON text would escape them, and malformed values could make it longer than an item may
 * be.
 */
export const encodeRows = (rows: readonly SheetRow[]): Item => ({
  l: numbers(rows.map(({ line }) => line)),
  u: strings(rows.map(({ userId }) => userId)),
  p: numbers(rows.map(({ points }) => points)),
  t: strings(rows.map(({ reason }) => reason)),
  ...(rows.some(({ expireMonth }) => expireMonth) && {
    m: strings(rows.map(({ expireMonth = "" }) => expireMonth)),
  }),
  e: {
    L: rows.flatMap((row, index) =>
      row.rawPoints === undefined && !row.problems ? [] : extras.encode({ ...row, index }),
    ),
  },
});

export function decodeRows(item: Item): SheetRow[] {
  const [lines, users] = [nums(item, "l"), texts(item, "u")];
  const [points, reasons] = [nums(item, "p"), texts(item, "t")];
  const months = item.m ? texts(item, "m") : [];
  const stored = optional("e", list(extras)).get(item) ?? [];
  const more = new Map(stored.map(({ index, ...extra }) => [index, extra]));
  return lines.map((line, i) => ({
    line,
    userId: users[i] ?? "",
    points: points[i] ?? 0,
    reason: reasons[i] ?? "",
    ...(months[i] && { expireMonth: months[i] }),
    ...more.get(i),
  }));
}

const problemFields = {
  code: field("c", oneOf<RowCode>()),
  detail: optional("d", text),
  cell: optional("w", text),
};

/** The values of a row beside those in lists, by the index of the row. */
const extras = map<Pick<SheetRow, "rawPoints" | "problems"> & { readonly index: number }>({
  index: field("i", number),
  rawPoints: optional("x", text),
  problems: optional("e", list(map<RowProblem>(problemFields))),
});

/** A problem of a row, by the index of the row in its block. */
export const blockProblem = map<BlockProblem>({ index: field("i", number), ...problemFields });
