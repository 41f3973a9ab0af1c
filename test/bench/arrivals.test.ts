/** Holds the open loop of the benchmarks to its schedule. */
import { expect, test } from "vitest";
import { startArrivals } from "../../bench/support/arrivals.ts";

const perSecond = 100;
const stallMs = 200;

test("a latency has the time for which a stalled process could not send the call", async () => {
  const { promise: twoSent, resolve } = Promise.withResolvers<void>();
  const arrivals = startArrivals(perSecond, async (n) => {
    if (n === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallMs);
    else resolve();
  });
  await twoSent;
  const { latencies } = await arrivals.stop();
  expect(latencies[1]).toBeGreaterThanOrEqual(stallMs - 1_000 / perSecond);
});
