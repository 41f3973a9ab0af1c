/** Tests the metrics that a worker exports. */
import { afterEach, expect, test, vi } from "vitest";
import { createMetrics } from "../../src/worker/metrics.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** The samples of overdue reservations, as Prometheus reads them. */
async function overdueSamples({ registry }: ReturnType<typeof createMetrics>) {
  const lines = (await registry.metrics()).split("\n");
  return lines.filter((line) => /^meguri_reservation.*overdue/.test(line));
}

test("overdue reservations are exported until the next pass, or for 3 minutes", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const metrics = createMetrics();
  expect(await overdueSamples(metrics)).toEqual([]);
  metrics.observeOverdue({ count: 3, oldestMs: 61_500 });
  expect(await overdueSamples(metrics)).toEqual([
    "meguri_reservations_overdue 3",
    "meguri_reservation_oldest_overdue_seconds 61.5",
  ]);
  metrics.observeOverdue({ count: 0, oldestMs: 0 });
  const none = ["meguri_reservations_overdue 0", "meguri_reservation_oldest_overdue_seconds 0"];
  vi.advanceTimersByTime(180_000);
  expect(await overdueSamples(metrics)).toEqual(none);
  // Another worker has had the passes since.
  vi.advanceTimersByTime(1);
  expect(await overdueSamples(metrics)).toEqual([]);
  metrics.observeOverdue({ count: 0, oldestMs: 0 });
  expect(await overdueSamples(metrics)).toEqual(none);
});
