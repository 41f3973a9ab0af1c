/** Tests how many items a transaction of holds has, and that calls of one account share it. */
import { beforeEach, describe, expect, test } from "vitest";
import { capturePoints, holdPoints, releaseHold } from "../../../src/holds/use-cases/commands.ts";
import { refundPoints } from "../../../src/holds/use-cases/refund.ts";
import { timeOutHold } from "../../../src/holds/use-cases/time-out.ts";
import { CommitEngine } from "../../../src/platform/engine/engine.ts";
import type { ItemStore } from "../../../src/platform/engine/item-store.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { grantPoints, usePoints } from "../../../src/points/use-cases/commands.ts";
import { createReservationFixture, programId } from "../../support/fixtures/memory-reservations.ts";

const day = 86_400_000;
const common = {
  ...{ programId, userId: "u", reason: "", caller: asService("tests") },
  deadline: undefined,
};

/** A user with 100 points, and the numbers of items of the transactions that were committed. */
async function setUp() {
  const { deps: given, store, clock } = createReservationFixture();
  let items: number[] = [];
  const itemStore: ItemStore = {
    ...store.itemStore,
    commit(writes, token) {
      const counter = store.itemStore.countItems();
      items.push(Math.max(...writes.map(counter.add)));
      return store.itemStore.commit(writes, token);
    },
  };
  const deps = { ...given, engine: new CommitEngine({ store: itemStore, clock }) };
  await grantPoints(deps, { ...common, eventId: "g", points: 100 });
  return {
    clock,
    hold: (holdId: string, points: number) =>
      holdPoints(deps, {
        ...{ ...common, holdId, points, allowPartial: false, until: clock.time + 80 * day },
        expiredPointsPolicy: "ORIGINAL_EXPIRY",
      }),
    capture: (holdId: string, eventId: string, points: number, moreFollow: boolean) =>
      capturePoints(deps, { ...common, holdId, eventId, points, moreFollow }),
    release: (holdId: string) => releaseHold(deps, { ...common, holdId }),
    refund: (eventId: string, holdId: string, useEventId: string) =>
      refundPoints(deps, {
        ...{ ...common, eventId, holdId, useEventId, points: undefined },
        expiredPointsPolicy: "ORIGINAL_EXPIRY",
      }),
    timeOut: (holdId: string) => timeOutHold(deps, { ...common, holdId }),
    use: (eventId: string) =>
      usePoints(deps, { ...common, eventId, points: 1, allowPartial: false }),
    async itemsOf(work: () => Promise<unknown>): Promise<number[]> {
      items = [];
      store.latencyMs = 5;
      await work();
      store.latencyMs = 0;
      return items;
    },
  };
}

let fixture: Awaited<ReturnType<typeof setUp>>;
beforeEach(async () => {
  fixture = await setUp();
});

test("each change of a hold is account, entries and hold, and of a capture its key", async () => {
  const { hold, capture, refund, release, timeOut, itemsOf, clock } = fixture;
  expect(await itemsOf(() => hold("a", 10))).toEqual([3]);
  expect(await itemsOf(() => capture("a", "1", 4, true))).toEqual([4]);
  expect(await itemsOf(() => capture("a", "2", 4, false))).toEqual([4]);
  expect(await itemsOf(() => refund("r", "a", "1"))).toEqual([4]);
  await hold("b", 10);
  expect(await itemsOf(() => release("b"))).toEqual([3]);
  // After the month end at which all points expire, those that are released among them.
  clock.time += 350 * day;
  await hold("c", 10);
  clock.time += 80 * day;
  expect(await itemsOf(() => timeOut("c"))).toEqual([3]);
});

describe("at once", () => {
  const ids = Array.from({ length: 12 }, (_, i) => `h-${i}`);
  const all = (work: (id: string) => Promise<unknown>) => () => Promise.all(ids.map(work));

  test("holds of one account, and captures of them, share transactions as uses do", async () => {
    const { use, hold, capture, itemsOf } = fixture;
    const uses = await itemsOf(all(use));
    const holds = await itemsOf(all((id) => hold(id, 2)));
    const captures = await itemsOf(all((id) => capture(id, "c", 1, false)));
    expect(uses.length).toBeLessThanOrEqual(2);
    expect(holds.length).toBeLessThanOrEqual(2);
    expect(captures.length).toBeLessThanOrEqual(2);
  });

  test("captures of one hold share one write of it", async () => {
    const { hold, capture, itemsOf } = fixture;
    await hold("a", 50);
    const items = await itemsOf(all((id) => capture("a", id, 1, true)));
    expect(items.length).toBeLessThanOrEqual(2);
    // Beside the keys: the account, its entries and the hold.
    expect(Math.max(...items)).toBeLessThanOrEqual(ids.length + 5);
  });
});
