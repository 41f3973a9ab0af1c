/** Tests that pages are filled from pages of the store, of which at most five are read. */
import { describe, expect, test } from "vitest";
import type { Page, PageRequest } from "../../../src/platform/ports/pages.ts";
import { fullPage } from "../../../src/platform/work/full-page.ts";

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

const showing = (keeps: (n: number) => boolean) => ({
  show: async (all: readonly number[]) => all.filter(keeps).map(String),
  cursorAfter: (shown: string) => String(Number(shown) + 1),
});

describe("a page", () => {
  test("is one page of the store if nothing is left out", async () => {
    const { read, sizes } = numbersBelow(10);
    const list = { read, ...showing(() => true) };
    const page = await fullPage({ size: 4, cursor: "2" }, list);
    expect(page).toEqual({ items: ["2", "3", "4", "5"], cursor: "6" });
    expect(sizes).toEqual([4]);
  });

  test("is filled by a larger read, and the next one begins behind its last item", async () => {
    const { read, sizes } = numbersBelow(200);
    const list = { read, ...showing((n) => n % 2 === 1) };
    const page = await fullPage({ size: 4, cursor: undefined }, list);
    expect(page).toEqual({ items: ["1", "3", "5", "7"], cursor: "8" });
    expect(sizes).toEqual([4, 100]);
    const next = await fullPage({ size: 2, cursor: page.cursor }, list);
    expect(next.items).toEqual(["9", "11"]);
  });

  test("ends with the list", async () => {
    const { read } = numbersBelow(7);
    const page = await fullPage({ size: 5, cursor: undefined }, { read, ...showing((n) => n > 4) });
    expect(page).toEqual({ items: ["5", "6"] });
  });

  test("of one item is not empty behind 400 that are left out", async () => {
    const { read } = numbersBelow(1_000);
    const list = { read, ...showing((n) => n >= 400) };
    const page = await fullPage({ size: 1, cursor: undefined }, list);
    expect(page).toEqual({ items: ["400"], cursor: "401" });
  });

  test("is cut after five pages of the store, and the next one goes on", async () => {
    const { read, sizes } = numbersBelow(1_000);
    const list = { read, ...showing((n) => n >= 415) };
    const page = await fullPage({ size: 10, cursor: undefined }, list);
    expect(page).toEqual({ items: [], cursor: "410" });
    expect(sizes).toEqual([10, 100, 100, 100, 100]);
    const next = await fullPage({ size: 3, cursor: page.cursor }, list);
    expect(next.items).toEqual(["415", "416", "417"]);
  });
});
