/** Pages of lists, and batches of work. */
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

/** Cuts a list into batches of up to `size` items. */
export function inBatches<T>(all: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let i = 0; i < all.length; i += size) batches.push(all.slice(i, i + size));
  return batches;
}
