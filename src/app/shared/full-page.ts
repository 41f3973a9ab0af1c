/** Fills a page of a list from pages of the store, whose items are not all shown. */
import type { Page, PageRequest } from "../ports/pages.ts";

/** How many pages of the store are read at most for one page of a list. */
const maxPages = 5;

/**
 * Reads on until the page is full, the list ends or five pages of the store are read. `show` gets
 * the items of each page of the store, and returns what is shown of them, in their order.
 */
export async function fullPage<T, R>(
  { size, cursor }: PageRequest,
  read: (page: PageRequest) => Promise<Page<T>>,
  show: (items: readonly T[]) => Promise<readonly R[]>,
): Promise<Page<R>> {
  const items: R[] = [];
  let next = cursor;
  for (let pages = 0; pages < maxPages; pages++) {
    // No more than what is missing, so that the cursor of the store's page ends this page, too.
    const found = await read({ size: size - items.length, cursor: next });
    items.push(...(await show(found.items)));
    next = found.cursor;
    if (next === undefined) return { items };
    if (items.length >= size) break;
  }
  return { items, ...(next !== undefined && { cursor: next }) };
}
