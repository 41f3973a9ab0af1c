/** Tests that attempts take turns, and that one that is stuck does not hold up the rest. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  createDueGrantQueue,
  type DueGrantQueue,
} from "../../../activities/reservations/due-grant-queue.ts";
import { grantTiming } from "../../../workflows/timing.ts";

const { leastAtOnce, mostAtOnce, slowMs, longMs, deferMs } = grantTiming;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work that ends on request, in the order of its queue. */
function createWorks() {
  const begun: PromiseWithResolvers<string>[] = [];
  const work = () => {
    const ending = Promise.withResolvers<string>();
    begun.push(ending);
    return ending.promise;
  };
  return { begun, work };
}

/** Lets `count` works that take `tookMs` each end, and returns how many were made at a time. */
async function mostOf(queue: DueGrantQueue, count: number, tookMs: number): Promise<number> {
  let [running, most] = [0, 0];
  const all = Array.from({ length: count }, () =>
    queue.run(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, tookMs));
      running -= 1;
    }),
  );
  await vi.advanceTimersByTimeAsync(count * tookMs);
  await Promise.all(all);
  return most;
}

test("the next attempt begins when one has ended, in whatever way", async () => {
  const queue = createDueGrantQueue();
  const { begun, work } = createWorks();
  const all = Array.from({ length: leastAtOnce + 2 }, () => queue.run(work));
  await vi.advanceTimersByTimeAsync(longMs - 1);
  expect(begun).toHaveLength(leastAtOnce);
  begun[0]?.resolve("done");
  begun[1]?.reject(new Error("refused"));
  expect(await all[0]).toBe("done");
  await expect(all[1]).rejects.toThrow("refused");
  await vi.advanceTimersByTimeAsync(0);
  expect(begun).toHaveLength(leastAtOnce + 2);
});

test("attempts that are stuck go on, and no other one waits for them", async () => {
  const queue = createDueGrantQueue();
  const { begun, work } = createWorks();
  const stuck = Array.from({ length: leastAtOnce }, () => queue.run(work));
  const next = queue.run(work);
  await vi.advanceTimersByTimeAsync(longMs);
  begun[leastAtOnce]?.resolve("next");
  expect(await next).toBe("next");
  begun[0]?.resolve("late");
  expect(await stuck[0]).toBe("late");
});

test("more are made at a time while they are quick, and fewer when all are slow", async () => {
  const queue = createDueGrantQueue();
  expect(await mostOf(queue, 300, 10)).toBe(mostAtOnce);
  await mostOf(queue, 300, slowMs + 1);
  expect(await mostOf(queue, leastAtOnce * 3, slowMs + 1)).toBe(leastAtOnce);
  expect(await mostOf(queue, 300, 10)).toBe(mostAtOnce);
});

test("a hot account makes nothing slower for the others", async () => {
  const queue = createDueGrantQueue();
  await mostOf(queue, 300, 10);
  const { work } = createWorks();
  for (let i = 1; i < mostAtOnce; i++) void queue.run(work);
  await mostOf(queue, 1, 10);
  await vi.advanceTimersByTimeAsync(longMs);
  expect(await mostOf(queue, 300, 10)).toBe(mostAtOnce);
});

test("where all are slow, none counts as stuck as long as it takes as long as others", async () => {
  const queue = createDueGrantQueue();
  await mostOf(queue, leastAtOnce, 2 * longMs - 1);
  expect(await mostOf(queue, leastAtOnce * 2, 2 * longMs)).toBe(leastAtOnce);
});

test("what ended while others wait goes on when all have ended, or after 20 s", async () => {
  const queue = createDueGrantQueue();
  const { begun, work } = createWorks();
  const went: string[] = [];
  const goOn = (name: string) => void queue.untilAllEnded(deferMs).then(() => went.push(name));
  for (let i = 0; i < leastAtOnce + 2; i++) void queue.run(work);
  await vi.advanceTimersByTimeAsync(0);
  goOn("one of the first");
  begun[0]?.resolve("");
  begun[1]?.resolve("");
  await vi.advanceTimersByTimeAsync(0);
  // Nothing waits for its turn any more.
  goOn("one of the last");
  await vi.advanceTimersByTimeAsync(0);
  expect(went).toEqual(["one of the last"]);
  for (const each of begun) each.resolve("");
  await vi.advanceTimersByTimeAsync(0);
  expect(went).toEqual(["one of the last", "one of the first"]);
});

test.each([deferMs, 5_000])("what ended goes on after %s ms in any case", async (mostMs) => {
  const queue = createDueGrantQueue();
  let isOver = false;
  const stuck = () => new Promise<never>(() => {});
  const follow = () => {
    void queue.run(stuck);
    if (!isOver) setTimeout(follow, 10);
  };
  for (let i = 0; i <= leastAtOnce; i++) void queue.run(stuck);
  follow();
  void queue.untilAllEnded(mostMs).then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(mostMs - 1);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isOver).toBe(true);
});
