/** Tests that a list of holds in one state has full pages. */
import { expect, test } from "vitest";
import { listHolds } from "../../../src/app/holds/queries.ts";
import { holdRef } from "../../../src/app/ports/records.ts";
import { asService } from "../../../src/domain/caller.ts";
import type { Hold, HoldState } from "../../../src/domain/hold.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";

/** A user with so many holds; the one with the number `n` is HELD if `isHeld(n)`. */
function setUp(count: number, isHeld: (n: number) => boolean) {
  const { deps, store } = createReservationFixture();
  for (let n = 0; n < count; n++) {
    const hold: Hold = {
      ...{ programId, holdId: `h-${n}`, userId: "u", hash: "", reason: "", captures: [] },
      ...{ months: [{ month: 24_322, points: 1 }], expiredPointsPolicy: "ORIGINAL_EXPIRY" },
      ...{ creator: asService("shop"), state: isHeld(n) ? "HELD" : "RELEASED", until: n },
      ...{ createTime: 0, updateTime: 0, heldTime: 0, entryNumber: 2, availablePoints: 0 },
    };
    store.force(holdRef(hold), hold);
  }
  return async (state: HoldState | undefined, size: number) => {
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await listHolds(deps, { programId, userId: "u" }, state, { size, cursor });
      pages.push(page.items.map(({ holdId }) => holdId));
      cursor = page.cursor;
    } while (cursor !== undefined);
    return pages;
  };
}

test("pages of one state are full while there are more", async () => {
  const list = setUp(200, (n) => n % 50 === 0);
  expect(await list("HELD", 2)).toEqual([
    ["h-150", "h-100"],
    ["h-50", "h-0"],
  ]);
  expect((await list("RELEASED", 49)).map(({ length }) => length)).toEqual([49, 49, 49, 49]);
  expect((await list(undefined, 70)).map(({ length }) => length)).toEqual([70, 70, 60]);
});

test("a page that is looked for behind hundreds of other holds may be short", async () => {
  const list = setUp(1_000, (n) => n === 0);
  const pages = await list("HELD", 10);
  expect(pages.flat()).toEqual(["h-0"]);
  expect(pages.length).toBeLessThanOrEqual(3);
});
