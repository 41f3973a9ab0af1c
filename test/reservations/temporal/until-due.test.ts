/** Tests that a grant is held until the store's clock, as it is corrected meanwhile, says so. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { holdUntil } from "../../../activities/reservations/until-due.ts";
import type { Instant } from "../../../src/platform/words/month.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Holds until `time` by a clock that has these readings, and returns how long that took. */
async function heldMs(time: Instant, readings: readonly Instant[]): Promise<number> {
  const left = [...readings];
  const clock = {
    async now() {
      const wall = left.shift() ?? expect.unreachable("the clock is read too often");
      return { wall, calendar: wall };
    },
  };
  let passedMs = 0;
  const held = new MockActivityEnvironment().run(() => holdUntil(clock, time));
  const isOver = held.then(() => true);
  while (!(await Promise.race([isOver, settled()]))) {
    await vi.advanceTimersByTimeAsync(10);
    passedMs += 10;
  }
  expect(left).toEqual([]);
  return passedMs;
}

/** Lets the steps that need no timer run. */
const settled = () => new Promise<false>((resolve) => setImmediate(() => resolve(false)));

test("a grant that is due is not held", async () => {
  expect(await heldMs(5_000, [5_000])).toBe(0);
});

test("a grant is held again when its clock was set back meanwhile", async () => {
  expect(await heldMs(5_000, [4_700, 4_600, 5_000])).toBe(700);
});

test("a grant is held no longer once its clock was set ahead", async () => {
  expect(await heldMs(20_000, [0, 10_000, 20_000])).toBe(15_000);
});
