/** Reads batches of the log of events, each once for all who read it at about the same time. */
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { createTurns } from "../../platform/work/turns.ts";
import type { EventLogReader, LogBatch } from "../ports/log.ts";

/** How many batches one request reads. */
const readSize = 4;

/** How many requests are in flight at once: of those who follow, and of those who catch up. */
const concurrency = 8;

/** Whoever is so near to the end follows. */
const followingBatches = 32;

/** How many events, and batches, stay in memory for those who follow. */
const keptEvents = 20_000;

/** How many of these batches one read returns. */
const maxKeptBatches = 32;

/**
 * Returns a function that reads at least one batch from a number on, unless it is not kept. Each
 * read returns in a turn of its own, because a thousand streams wake at the same moment. Those who
 * follow do not wait for those who catch up.
 */
export function createLogBatches(
  eventLog: Pick<EventLogReader, "read">,
  endNumber: () => number,
): (number: number) => Promise<readonly LogBatch[]> {
  const followers = pLimit(concurrency);
  const others = pLimit(concurrency);
  const nextTurn = createTurns();
  const kept = new LRUCache<number, LogBatch>({
    maxSize: keptEvents,
    sizeCalculation: ({ events }) => 1 + events.length,
  });
  const reading = new Map<number, Promise<readonly LogBatch[]>>();

  function inMemory(number: number): LogBatch[] {
    const batches: LogBatch[] = [];
    while (batches.length < maxKeptBatches) {
      const batch = kept.get(number + batches.length);
      if (!batch) break;
      batches.push(batch);
    }
    return batches;
  }

  async function readStored(number: number): Promise<readonly LogBatch[]> {
    const limit = number > endNumber() - followingBatches ? followers : others;
    try {
      const batches = await limit(() => eventLog.read(number, readSize));
      for (const batch of batches) kept.set(batch.number, batch);
      return batches;
    } finally {
      reading.delete(number);
    }
  }

  function readOnce(number: number): Promise<readonly LogBatch[]> {
    const found = reading.get(number) ?? readStored(number);
    reading.set(number, found);
    return found;
  }

  return async (number) => {
    const batches = inMemory(number);
    const found = batches.length > 0 ? batches : await readOnce(number);
    await nextTurn();
    return found;
  };
}
