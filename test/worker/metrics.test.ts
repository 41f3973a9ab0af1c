/** Tests the metrics that a worker exports. */
import { afterEach, expect, test, vi } from "vitest";
import { createMetrics, type Metrics } from "../../src/worker/metrics.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** The samples of overdue reservations, as Prometheus reads them. */
async function overdueSamples({ registry }: ReturnType<typeof createMetrics>) {
  const lines = (await registry.metrics()).split("\n");
  return lines.filter((line) => /^meguri_reservation.*overdue/.test(line));
}

test("overdue reservations are exported until the next sweep, or for three minutes", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const metrics = createMetrics();
  expect(await overdueSamples(metrics)).toEqual([]);
  metrics.onOverdue({ overdue: 2, failed: 1, oldestMs: 61_500 });
  expect(await overdueSamples(metrics)).toEqual([
    "meguri_reservations_overdue 3",
    "meguri_reservation_oldest_overdue_seconds 61.5",
  ]);
  metrics.onOverdue({ overdue: 0, failed: 0, oldestMs: 0 });
  const none = ["meguri_reservations_overdue 0", "meguri_reservation_oldest_overdue_seconds 0"];
  vi.advanceTimersByTime(180_000);
  expect(await overdueSamples(metrics)).toEqual(none);
  // The sweep is stuck.
  vi.advanceTimersByTime(1);
  expect(await overdueSamples(metrics)).toEqual([]);
  metrics.onOverdue({ overdue: 0, failed: 0, oldestMs: 0 });
  expect(await overdueSamples(metrics)).toEqual(none);
});

test("overdue numbers vanish when a sweep fails", async () => {
  const metrics = createMetrics();
  metrics.onOverdue({ overdue: 1, failed: 0, oldestMs: 0 });
  expect(await overdueSamples(metrics)).not.toEqual([]);
  metrics.onSwept(false);
  expect(await overdueSamples(metrics)).toEqual([]);
});

test.each([
  ["reconciler_last_pass", ({ observers }: Metrics) => observers.onPass()],
  ["last_sweep", ({ onSwept }: Metrics) => onSwept(true)],
])("the time of %s is exported once there was one", async (name, end) => {
  const metrics = createMetrics();
  const last = async () => {
    const lines = (await metrics.registry.metrics()).split("\n");
    return lines.find((line) => line.startsWith(`meguri_${name}_timestamp_seconds `));
  };
  metrics.onSwept(false);
  expect(await last()).toBeUndefined();
  end(metrics);
  const time = await last();
  expect(Number(time?.split(" ")[1]) * 1_000).toBeCloseTo(Date.now(), -5);
});

test("at most 100 programs are named, those with the largest numbers", async () => {
  const { registry, observers } = createMetrics();
  observers.onPaused(new Map(Array.from({ length: 103 }, (_, i) => [`p-${i}`, i < 3 ? 1 : 2])));
  const page = await registry.metrics();
  expect(page.match(/^meguri_reservations_paused\{/gm)).toHaveLength(101);
  expect(page).toContain('meguri_reservations_paused{program_id="p-102"} 2\n');
  expect(page).toContain('meguri_reservations_paused{program_id="other"} 3\n');
  observers.onPaused(undefined);
  expect(await registry.metrics()).not.toContain("meguri_reservations_paused{");
});

test("month ends are exported by program until they cannot be read", async () => {
  const { registry, observers } = createMetrics();
  const samples = async () =>
    (await registry.metrics()).split("\n").filter((line) => /^meguri_month_end_/.test(line));
  expect(await samples()).toEqual([]);
  observers.onMonthEnds({
    behind: new Map([
      ["shop", 0],
      ["cafe", 2],
    ]),
    failedAccounts: new Map([
      ["shop", 7],
      ["cafe", 0],
    ]),
  });
  expect(await samples()).toEqual([
    'meguri_month_end_months_behind{program_id="cafe"} 2',
    'meguri_month_end_months_behind{program_id="shop"} 0',
    'meguri_month_end_failed_accounts{program_id="shop"} 7',
    'meguri_month_end_failed_accounts{program_id="cafe"} 0',
  ]);
  observers.onMonthEnds(undefined);
  expect(await samples()).toEqual([]);
});

test("what waits for people is exported by kind, unless a kind could not be read", async () => {
  const { registry, observers } = createMetrics();
  const samples = async () =>
    (await registry.metrics()).split("\n").filter((line) => /^meguri_waiting_/.test(line));
  observers.onBulkGrants({ byState: new Map(), waiting: { count: 2, oldestMs: 60_000 } });
  observers.onWaitingRules({ count: 0, oldestMs: 0 });
  expect(await samples()).toEqual([
    'meguri_waiting_for_people{kind="bulk_grant"} 2',
    'meguri_waiting_for_people{kind="rule_change"} 0',
    'meguri_waiting_for_people_oldest_seconds{kind="bulk_grant"} 60',
    'meguri_waiting_for_people_oldest_seconds{kind="rule_change"} 0',
  ]);
  observers.onBulkGrants(undefined);
  expect(await samples()).toEqual([
    'meguri_waiting_for_people{kind="rule_change"} 0',
    'meguri_waiting_for_people_oldest_seconds{kind="rule_change"} 0',
  ]);
});
