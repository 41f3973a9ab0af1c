/** How the rows of an upload, and what is wrong with them, are stored. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  type Item,
  N,
  num,
  numbers,
  nums,
  S,
  strings,
  text,
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
  e: { L: rows.flatMap(encodeExtras) },
});

export function decodeRows(item: Item): SheetRow[] {
  const [lines, users] = [nums(item, "l"), texts(item, "u")];
  const [points, reasons] = [nums(item, "p"), texts(item, "t")];
  const months = item.m ? texts(item, "m") : [];
  const extras = new Map((item.e?.L ?? []).map(({ M = {} }) => [num(M, "i"), decodeExtras(M)]));
  return lines.map((line, i) => ({
    line,
    userId: users[i] ?? "",
    points: points[i] ?? 0,
    reason: reasons[i] ?? "",
    ...(months[i] && { expireMonth: months[i] }),
    ...extras.get(i),
  }));
}

function encodeExtras({ rawPoints, problems }: SheetRow, index: number): AttributeValue[] {
  if (rawPoints === undefined && !problems) return [];
  const attributes = {
    i: N(index),
    ...(rawPoints !== undefined && { x: S(rawPoints) }),
    ...(problems && { e: { L: problems.map((problem) => ({ M: itemOf(problem) })) } }),
  };
  return [{ M: attributes }];
}

const decodeExtras = (item: Item): Pick<SheetRow, "rawPoints" | "problems"> => ({
  ...(item.x && { rawPoints: text(item, "x") }),
  ...(item.e && { problems: (item.e.L ?? []).map(({ M = {} }) => problemIn(M)) }),
});

export const encodeProblem = ({ index, ...problem }: BlockProblem): AttributeValue => ({
  M: { i: N(index), ...itemOf(problem) },
});

export const decodeProblem = ({ M = {} }: AttributeValue): BlockProblem => ({
  index: num(M, "i"),
  ...problemIn(M),
});

const itemOf = ({ code, detail }: RowProblem): Item => ({
  c: S(code),
  ...(detail !== undefined && { d: S(detail) }),
});

const problemIn = (item: Item): RowProblem => ({
  code: text(item, "c") as RowCode,
  ...(item.d && { detail: text(item, "d") }),
});
