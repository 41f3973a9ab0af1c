/** Tests when a worker sweeps over what is overdue. */
import { expect, test, vi } from "vitest";
import { sweepOverdue } from "../../src/worker/overdue-sweeps.ts";

const noPause = { meanMs: 1, jitter: 0.4 };

test("at its start, and again after a sweep that has failed, until its process stops", async () => {
  const stopping = new AbortController();
  const onSwept = vi.fn();
  const error = new Error("the store is away");
  const ends = [true, error, true, true];
  const sweep = vi.fn(async () => {
    const end = ends.shift();
    if (ends.length === 0) stopping.abort();
    if (end instanceof Error) throw end;
    return { isWhole: true };
  });
  await sweepOverdue({ sweep, onSwept }, stopping.signal, noPause);
  expect(sweep).toHaveBeenCalledTimes(4);
  expect(onSwept.mock.calls).toEqual([[], [error], [], []]);
});

test("without a pause while something is left, and no more when its process stops", async () => {
  const stopping = new AbortController();
  let left = 3;
  const sweep = vi.fn(async () => ({ isWhole: --left === 0 }));
  const pause = { ...noPause, meanMs: 1_000_000 };
  const swept = sweepOverdue({ sweep, onSwept() {} }, stopping.signal, pause);
  await vi.waitFor(() => expect(sweep).toHaveBeenCalledTimes(3));
  stopping.abort();
  await swept;
  expect(sweep).toHaveBeenCalledTimes(3);
});
