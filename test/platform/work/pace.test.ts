/** Tests the pace of changes: what is asked for at once is spread over time, in its order. */
import { expect, test } from "vitest";
import { createPace } from "../../../src/platform/work/pace.ts";
import { shardCount } from "../../../src/points/contract/points.ts";
import { expireDueInShard } from "../../../src/points/use-cases/expire-due.ts";
import { createAccountFixture, grant, programId } from "../../support/fixtures/account-fixture.ts";

test("changes take their time, many at once as long as one by one", async () => {
  const pace = createPace(1_000);
  const start = performance.now();
  const order: number[] = [];
  const waits = Array.from({ length: 50 }, (_, i) => pace().then(() => order.push(i)));
  await Promise.all([...waits, pace(100), pace()]);
  // Timers of Node may be a millisecond early.
  expect(performance.now() - start).toBeGreaterThanOrEqual(149);
  expect(order).toEqual(Array.from({ length: 50 }, (_, i) => i));
});

test("time in which nothing is asked for is not made up for", async () => {
  const pace = createPace(100);
  await pace();
  await new Promise((resolve) => setTimeout(resolve, 60));
  const start = performance.now();
  await Promise.all([pace(), pace(), pace()]);
  expect(performance.now() - start).toBeGreaterThanOrEqual(19);
});

test("a month end expires nothing that its pace has not let pass", async () => {
  const { deps, clock } = createAccountFixture(1);
  for (let i = 0; i < 20; i++) await grant(deps, "g", 10, { userId: `user-${i}` });
  clock.time = Date.UTC(2026, 4, 15);
  let left = 12;
  const paced = { ...deps, paceSweep: async () => (left-- > 0 ? undefined : stop()) };
  const stop = () => Promise.reject(new Error("not now"));
  let [expired, failed] = [0, 0];
  for (let shard = 0; shard < shardCount; shard++) {
    const counts = await expireDueInShard(paced, { programId, shard }, () => true);
    expired += counts.expired;
    failed += counts.failed;
  }
  expect([expired, failed]).toEqual([12, 8]);
});
