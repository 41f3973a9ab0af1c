/** Pages of lists, and batches of work. */
import { DomainError } from "../words/errors.ts";
import type { Instant } from "../words/month.ts";

/** A page of a list and the cursor of the next page. The last page has no cursor. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string | undefined;
}

/** A request for a page. */
export interface PageRequest {
  /** The largest number of items. */
  readonly size: number;
  /** The cursor of the page before; undefined for the first page. */
  readonly cursor: string | undefined;
}

/** The refusal INVALID_REQUEST of a cursor that is of another list, or of none. */
export const badCursor = () =>
  new DomainError("INVALID_REQUEST", "page_token does not belong to this list", {
    field: "page_token",
  });

/** A range of instants that includes `start` and excludes `end`. */
export interface Window {
  readonly start: Instant | undefined;
  readonly end: Instant | undefined;
}

/** Yields the items of each page, from the first page to the last. */
export async function* allPages<T>(
  size: number,
  read: (page: PageRequest) => Promise<Page<T>>,
): AsyncGenerator<readonly T[], void> {
  let cursor: string | undefined;
  do {
    const page = await read({ size, cursor });
    yield page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Yields the items of pages one by one. Reads a page only after the items of the one before. */
export async function* eachOf<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T, void> {
  for await (const items of pages) yield* items;
}

/** Cuts a list into batches of up to `size` items. */
export function inBatches<T>(all: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let i = 0; i < all.length; i += size) batches.push(all.slice(i, i + size));
  return batches;
}
