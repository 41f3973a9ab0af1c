/** Tests how fast the run of a bulk grant says that it is. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { BulkGrantView } from "../../../src/bulk-grants/contract/bulk-grants.ts";
import { createPace } from "../../../workflows/bulk-grants/bulk-pace.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const viewOf = (done: number, more: Partial<BulkGrantView> = {}) =>
  ({
    ...{ step: "RUN", run: 1, row_count: 100_100 },
    counts: { granted_count: done, failed_count: 0, already_granted_count: 100 },
    ...more,
  }) as BulkGrantView;

/** The lines after each number of rows that were executed, with so many ms between them. */
function linesOf(ms: number, done: readonly number[]): string[][] {
  const paceOf = createPace();
  return done.map((rows) => {
    vi.advanceTimersByTime(ms);
    return paceOf(viewOf(rows));
  });
}

test.each([
  [5_000, [0, 500], "100 rows a second, about 17 min left"],
  [5_000, [0, 20], "4.0 rows a second, about 6 h 57 min left"],
  [1_000, [90_000, 91_500], "1,500 rows a second, about 6 s left"],
  [1_000, [99_900, 100_000], "100 rows a second, about 0 s left"],
])("results %i ms apart, of %j rows", (ms, done, line) => {
  expect(linesOf(ms, done)).toEqual([[], [`- pace: ${line}`]]);
});

test("is that of the last results, not of the whole run", () => {
  const slow = Array.from({ length: 20 }, (_, i) => i);
  const fast = Array.from({ length: 9 }, (_, i) => 1_000 * (i + 1));
  expect(linesOf(1_000, [...slow, ...fast]).at(-1)?.[0]).toContain("1,000 rows a second");
});

test("is not shown while nothing is executed, and begins again after a pause", () => {
  expect(linesOf(1_000, [10, 10])).toEqual([[], []]);
  const paceOf = createPace();
  const shown = [viewOf(0), viewOf(10, { step: "PAUSED" }), viewOf(20), viewOf(30)].map((view) => {
    vi.advanceTimersByTime(10_000);
    return paceOf(view);
  });
  expect(shown).toEqual([[], [], [], ["- pace: 1.0 rows a second, about 27 h 47 min left"]]);
});

test("is not shown of a retry, which passes over the rows that are granted", () => {
  const paceOf = createPace();
  for (const done of [0, 500]) {
    vi.advanceTimersByTime(1_000);
    expect(paceOf(viewOf(done, { run: 2 }))).toEqual([]);
  }
});
