/** Pages of lists, for all readers. */
import type { Instant } from "../../domain/month.ts";

/** A page of a list and where the next one starts; no cursor after the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
}

/** Where a page starts and how long it is at most. */
export interface PageRequest {
  readonly size: number;
  readonly cursor: string | undefined;
}

/** A range of instants: `start` belongs to it, `end` does not. */
export interface Window {
  readonly start: Instant | undefined;
  readonly end: Instant | undefined;
}

/** Yields the items of all pages, from the first page to the last. */
export async function* allItems<T>(
  size: number,
  read: (page: PageRequest) => Promise<Page<T>>,
): AsyncGenerator<T, void> {
  let cursor: string | undefined;
  do {
    const page = await read({ size, cursor });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
