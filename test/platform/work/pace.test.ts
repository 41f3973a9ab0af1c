/** Tests the pace of changes: what is asked for at once is spread over time, in its order. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createPace } from "../../../src/platform/work/pace.ts";
import { shardCount } from "../../../src/points/contract/points.ts";
import { expireDueInShard } from "../../../src/points/use-cases/expire-due.ts";
import { createAccountFixture, grant, programId } from "../../support/fixtures/account-fixture.ts";

let now = 0;
const waits: number[] = [];
vi.mock("node:timers/promises", () => ({
  setTimeout: async (ms: number) => {
    waits.push(ms);
    await new Promise(setImmediate);
    now += ms;
  },
}));

beforeEach(() => {
  now = 0;
  waits.length = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => vi.restoreAllMocks());

test("changes take their time, many at once as long as one by one", async () => {
  const pace = createPace(1_000);
  await Promise.all([...Array.from({ length: 50 }, () => pace("a")), pace("a", 100), pace("a")]);
  expect(waits).toEqual([...Array.from({ length: 50 }, () => 1), 100]);
});

test("time in which nothing is asked for is not made up for", async () => {
  const pace = createPace(100);
  await pace("a");
  now = 60;
  await Promise.all([pace("a"), pace("a"), pace("a")]);
  expect(waits).toEqual([10, 10]);
});

test("flows that wait together get the same number of changes, whatever they ask for", async () => {
  const pace = createPace(1_000);
  const granted = { large: 0, many: 0, single: 0 };
  const ask = async (flow: keyof typeof granted, changes: number) => {
    for (let i = 0; i < 1_000 / changes; i++) {
      await pace(flow, changes);
      granted[flow] += changes;
    }
  };
  const asked = [ask("large", 25), ...Array.from({ length: 40 }, () => ask("many", 1))];
  await ask("single", 1);
  expect(granted.single).toBe(1_000);
  expect(Math.abs(granted.large - 1_000)).toBeLessThanOrEqual(50);
  expect(Math.abs(granted.many - 1_000)).toBeLessThanOrEqual(50);
  await Promise.all(asked);
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
