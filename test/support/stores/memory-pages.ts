/** Pages of lists in memory, cut as DynamoDB cuts them. */
import type { Page, PageRequest } from "../../../src/app/ports/pages.ts";
import type { Kind, Records, Ref } from "../../../src/app/ports/records.ts";
import { DomainError } from "../../../src/domain/errors.ts";

/** A record of the store in memory. */
export interface Stored {
  readonly ref: Ref;
  readonly value: Records[Kind];
  readonly version: number;
}

/** A record and the text by which it is sorted. */
export interface Sorted<T> {
  readonly sort: string;
  readonly record: T;
}

const digits = 16;

/** Numbers as texts in ascending order (`pad`) or in descending order (`padBack`). */
export const pad = (value: number): string => String(value).padStart(digits, "0");
export const padBack = (value: number): string => pad(Number.MAX_SAFE_INTEGER - value);

/** A text of ASCII characters, changed so that it sorts in descending order. */
export const sortBack = (text: string): string =>
  `${[...text].map((each) => String.fromCharCode(0x7f - each.charCodeAt(0))).join("")}\x7f`;

export const bySort = (a: Sorted<unknown>, b: Sorted<unknown>): number =>
  a.sort < b.sort ? -1 : 1;

/** A copy that nobody can change, so that reads may return it without a copy for each. */
export const frozenCopy = <T>(value: T): T => frozen(structuredClone(value));

function frozen<T>(value: T): T {
  // JavaScript cannot freeze bytes.
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  for (const each of Object.values(value)) frozen(each);
  return Object.freeze(value);
}

/** Every record of a kind. */
export const allOf = <K extends Kind>(
  records: ReadonlyMap<string, Stored>,
  kind: K,
): Records[K][] =>
  [...records.values()]
    .filter(({ ref }) => ref.kind === kind)
    .map(({ value }) => value as Records[K]);

/** One page of a list. A full page has a cursor, even when no record follows. */
export function pageOf<T>(
  list: string,
  sorted: readonly Sorted<T>[],
  { size, cursor }: PageRequest,
): Page<T> {
  const after = cursor === undefined ? "" : parse(cursor, list);
  const found = sorted
    .toSorted(bySort)
    .filter(({ sort }) => sort > after)
    .slice(0, size);
  const last = found.at(-1);
  return {
    items: found.map(({ record }) => record),
    ...(found.length === size && last && { cursor: cursorOf(list, last.sort) }),
  };
}

/** The cursor of the page of a list that begins after a text by which a record is sorted. */
export const cursorOf = (list: string, after: string): string => JSON.stringify({ list, after });

function parse(cursor: string, list: string): string {
  const foreign = new DomainError("INVALID_REQUEST", "page_token does not belong to this list");
  try {
    const given = JSON.parse(cursor) as { list: string; after: string };
    if (given.list === list) return given.after;
  } catch {
    throw foreign;
  }
  throw foreign;
}
