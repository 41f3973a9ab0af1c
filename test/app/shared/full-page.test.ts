/** Tests that pages are filled from pages of the store, of which at most five are read. */
import { describe, expect, test } from "vitest";
import type { Page, PageRequest } from "../../../src/app/ports/pages.ts";
import { fullPage } from "../../../src/app/shared/full-page.ts";

/** A list of the numbers below `length`, and the sizes of the pages that were read. */
function numbersBelow(length: number) {
  const sizes: number[] = [];
  const read = async ({ size, cursor = "0" }: PageRequest): Promise<Page<number>> => {
    sizes.push(size);
    const start = Number(cursor);
    const items = Array.from({ length: Math.min(size, length - start) }, (_, i) => start + i);
    const end = start + items.length;
    return { items, ...(end < length && { cursor: String(end) }) };
  };
  return { read, sizes };
}

const only = (keeps: (n: number) => boolean) => async (all: readonly number[]) => all.filter(keeps);

describe("a page", () => {
  test("is one page of the store if nothing is left out", async () => {
    const { read, sizes } = numbersBelow(10);
    const page = await fullPage(
      { size: 4, cursor: "2" },
      read,
      only(() => true),
    );
    expect(page).toEqual({ items: [2, 3, 4, 5], cursor: "6" });
    expect(sizes).toEqual([4]);
  });

  test("is filled by what is missing, and the next one begins behind it", async () => {
    const { read, sizes } = numbersBelow(100);
    const isOdd = only((n) => n % 2 === 1);
    const page = await fullPage({ size: 4, cursor: undefined }, read, isOdd);
    expect(page).toEqual({ items: [1, 3, 5, 7], cursor: "8" });
    expect(sizes).toEqual([4, 2, 1, 1]);
    const next = await fullPage({ size: 2, cursor: page.cursor }, read, isOdd);
    expect(next.items).toEqual([9, 11]);
  });

  test("ends with the list", async () => {
    const { read } = numbersBelow(7);
    const page = await fullPage(
      { size: 5, cursor: undefined },
      read,
      only((n) => n > 4),
    );
    expect(page).toEqual({ items: [5, 6] });
  });

  test("is cut after five pages of the store, and the next one goes on", async () => {
    const { read, sizes } = numbersBelow(1_000);
    const late = only((n) => n >= 55);
    const page = await fullPage({ size: 10, cursor: undefined }, read, late);
    expect(page).toEqual({ items: [], cursor: "50" });
    expect(sizes).toHaveLength(5);
    const next = await fullPage({ size: 10, cursor: page.cursor }, read, late);
    expect(next.items).toEqual([55, 56, 57, 58, 59, 60, 61, 62, 63, 64]);
  });
});
