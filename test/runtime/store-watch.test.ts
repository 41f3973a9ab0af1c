/** Tests the lines about a store that hangs, is away or throttles: at the begin and at the end. */
import { pino } from "pino";
import { expect, test } from "vitest";
import { createStoreCheck } from "../../src/runtime/store-watch.ts";
import { memoryDeps } from "../support/stores/memory-store.ts";

function watch() {
  const lines: unknown[] = [];
  const stream = {
    write(line: string) {
      const { level, msg, ms } = JSON.parse(line);
      lines.push([level, msg, ms]);
    },
  };
  const store = { silenceMs: 0 };
  const { tallies } = memoryDeps().deps;
  const check = createStoreCheck(
    { tallies, storeSilenceMs: () => store.silenceMs },
    pino({}, stream),
  );
  const count = (result: string) =>
    tallies.store.requests.add({ operation: "GetItem", table: "points", result });
  return { lines, store, check, count };
}

test("a store that hangs is told of once, and when it answers again", () => {
  const { lines, store, check, count } = watch();
  check(0);
  store.silenceMs = 3_000;
  for (let now = 1_000; now < 9_000; now += 1_000) check(now);
  expect(lines).toEqual([[40, "the store gives no answer", undefined]]);
  store.silenceMs = 0;
  check(9_000);
  expect(lines).toHaveLength(1);
  count("ok");
  check(10_000);
  check(11_000);
  expect(lines.slice(1)).toEqual([[30, "the store answers again", 9_000]]);
});

test("a store that refuses connections is away, one that answers other requests is not", () => {
  const { lines, check, count } = watch();
  count("unanswered");
  count("ok");
  check(1_000);
  expect(lines).toEqual([]);
  count("unanswered");
  check(2_000);
  expect(lines).toEqual([[40, "the store gives no answer", undefined]]);
});

test("a store that throttles is told of once, until it has not for ten seconds", () => {
  const { lines, check, count } = watch();
  for (const now of [1_000, 5_000, 14_000]) {
    count("throttled");
    check(now);
  }
  check(23_000);
  expect(lines).toEqual([[40, "the store throttles requests", undefined]]);
  check(24_000);
  expect(lines.slice(1)).toEqual([[30, "the store throttles no longer", 23_000]]);
});
