/** Tests how services share the reads of the log, and what stays in memory of it. */
import { expect, test } from "vitest";
import type { LogBatch } from "../../../src/events/ports/log.ts";
import { createLogBatches } from "../../../src/events/runtime/log-batches.ts";
import { used } from "../../support/fixtures/event-log.ts";

/** Reads of a log whose batches have one event each, with an id of so many characters. */
function logOf(length: number, idSize = 1) {
  const counts = { reads: 0 };
  const batchOf = (number: number): LogBatch => ({
    number,
    time: 0,
    events: [used("u".repeat(idSize), number)],
  });
  const read = async (number: number, limit: number) => {
    counts.reads += 1;
    await new Promise(setImmediate);
    const left = Math.max(0, Math.min(limit, length - number + 1));
    return Array.from({ length: left }, (_, i) => batchOf(number + i));
  };
  return { counts, read: createLogBatches({ read }, () => length) };
}

test.each([
  ["in memory", 1_000, () => 1],
  ["in the store", 1_000, (i: number) => 4 * i + 1],
  ["at the end", 1_000, () => 1_000],
])("many reads of one service %s delay no other service", async (_, length, numberOf) => {
  const { read } = logOf(length);
  await read(numberOf(0), "late");
  let done = 0;
  const late = Array.from({ length: 200 }, (_, i) =>
    read(numberOf(i), "late").then(() => void done++),
  );
  await read(1_000, "shop");
  await read(900, "shop");
  expect(done).toBeLessThan(40);
  await Promise.all(late);
});

test("large events stay in memory up to a number of bytes", async () => {
  const { counts, read } = logOf(1_000, 20_000);
  const readAll = async () => {
    const before = counts.reads;
    for (let number = 1; number <= 1_000; ) number += (await read(number, "shop")).length;
    return counts.reads - before;
  };
  expect(await readAll()).toBe(250);
  expect(await readAll()).toBe(250);
});

test("small events stay in memory by the thousand", async () => {
  const { counts, read } = logOf(1_000);
  for (let number = 1; number <= 1_000; ) number += (await read(number, "shop")).length;
  const { reads } = counts;
  for (let number = 1; number <= 1_000; ) number += (await read(number, "shop")).length;
  expect(counts.reads).toBe(reads);
});
