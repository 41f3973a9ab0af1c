/** Fills a page of a list from pages of the store, whose items are not all shown. */
import type { Page, PageRequest } from "../ports/pages.ts";

/**
 * A page is complete after so many reads of the store, so that no caller waits for a long list of
 * which little is shown. Reads after the first one take more items.
 */
const maxReads = 5;
const laterReadSize = 100;

/** How the items of one list are read and shown. */
interface ShownList<T, R> {
  /** Reads a page of the store. */
  readonly read: (page: PageRequest) => Promise<Page<T>>;
  /** Returns what is shown of the items of a page of the store, in their order. */
  readonly show: (items: readonly T[]) => Promise<readonly R[]>;
  /** The cursor of the store's page that begins after an item. */
  readonly cursorAfter: (shown: R) => string;
}

/** Reads on until the page is full, the list ends or `maxReads` pages of the store are read. */
export async function fullPage<T, R>(
  { size, cursor }: PageRequest,
  { read, show, cursorAfter }: ShownList<T, R>,
): Promise<Page<R>> {
  const items: R[] = [];
  let next = cursor;
  for (let reads = 0; reads < maxReads; reads++) {
    const found = await read({ size: reads === 0 ? size : laterReadSize, cursor: next });
    const shown = await show(found.items);
    const taken = shown.slice(0, size - items.length);
    items.push(...taken);
    // Without an item that is shown, the cursor is behind all that are not.
    next = taken.length < shown.length ? cursorAfter(taken.at(-1) as R) : found.cursor;
    if (next === undefined || items.length === size) break;
  }
  return { items, cursor: next };
}
