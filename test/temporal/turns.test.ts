/** Tests that attempts take turns, and that one that is stuck does not hold up the rest. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTurns } from "../../activities/turns.ts";
import { grantTiming } from "../../workflows/timing.ts";

const { atOnce, turnMs } = grantTiming;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work that ends on request, in the order of its turns. */
function createWorks() {
  const begun: PromiseWithResolvers<string>[] = [];
  const work = () => {
    const ending = Promise.withResolvers<string>();
    begun.push(ending);
    return ending.promise;
  };
  return { begun, work };
}

test("the next attempt begins when one has ended, in whatever way", async () => {
  const inTurn = createTurns();
  const { begun, work } = createWorks();
  const all = Array.from({ length: atOnce + 2 }, () => inTurn(work));
  await vi.advanceTimersByTimeAsync(turnMs - 1);
  expect(begun).toHaveLength(atOnce);
  begun[3]?.resolve("done");
  begun[4]?.reject(new Error("refused"));
  expect(await all[3]).toBe("done");
  await expect(all[4]).rejects.toThrow("refused");
  await vi.advanceTimersByTimeAsync(0);
  expect(begun).toHaveLength(atOnce + 2);
});

test("attempts that are stuck go on, and no other one waits for them", async () => {
  const inTurn = createTurns();
  const { begun, work } = createWorks();
  const stuck = Array.from({ length: atOnce }, () => inTurn(work));
  const next = inTurn(work);
  await vi.advanceTimersByTimeAsync(turnMs);
  begun[atOnce]?.resolve("next");
  expect(await next).toBe("next");
  begun[0]?.resolve("late");
  expect(await stuck[0]).toBe("late");
});
