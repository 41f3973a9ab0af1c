/** Reads batches of the log of events, each once for all calls and streams that want it. */
import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { createRotation } from "../../platform/work/rotation.ts";
import type { EventLogReader, LogBatch } from "../ports/log.ts";
import { encodedSize } from "../published/encoding.ts";

/** How many batches one request reads. */
const readSize = 4;

/** How many requests are in flight at once, for readers near the end and for all others each. */
const concurrency = 8;

/** A reader of the last so many batches is near the end. */
const batchesNearEnd = 32;

/**
 * The bytes of the batches that stay in memory, by the sizes of their encoded events. An object
 * takes several times as much, and a small one `leastBytes` more.
 */
const keptBytes = 8 * 2 ** 20;
const leastBytes = 64;

/** How many of these batches one read returns. */
const maxKeptBatches = 32;

const sizeOf = ({ events }: LogBatch): number =>
  events.reduce((sum, event) => sum + leastBytes + encodedSize(event), leastBytes);

/**
 * Returns a function that reads at least one batch from a number on, unless it is not kept. Each
 * read returns in a turn of its own, because a thousand streams wake at the same moment. Readers
 * near the end do not wait for those that catch up, and no service waits for the many reads of
 * another.
 */
export function createLogBatches(
  eventLog: Pick<EventLogReader, "read">,
  endNumber: () => number,
): (number: number, service: string) => Promise<readonly LogBatch[]> {
  const nearEnd = createRotation(concurrency);
  const catchingUp = createRotation(concurrency);
  const turns = createRotation(1);
  const kept = new LRUCache<number, LogBatch>({ maxSize: keptBytes, sizeCalculation: sizeOf });
  const reading = new Map<number, Promise<readonly LogBatch[]>>();

  const isNearEnd = (number: number): boolean => number > endNumber() - batchesNearEnd;

  function inMemory(number: number): LogBatch[] {
    const batches: LogBatch[] = [];
    while (batches.length < maxKeptBatches) {
      const batch = kept.get(number + batches.length);
      if (!batch) break;
      batches.push(batch);
    }
    return batches;
  }

  async function readStored(number: number, service: string): Promise<readonly LogBatch[]> {
    const inRotation = isNearEnd(number) ? nearEnd : catchingUp;
    try {
      const batches = await inRotation(service, () => eventLog.read(number, readSize));
      for (const batch of batches) kept.set(batch.number, batch);
      return batches;
    } finally {
      reading.delete(number);
    }
  }

  function readOnce(number: number, service: string): Promise<readonly LogBatch[]> {
    const found = reading.get(number) ?? readStored(number, service);
    reading.set(number, found);
    return found;
  }

  return async (number, service) => {
    const batches = inMemory(number);
    const found = batches.length > 0 ? batches : await readOnce(number, service);
    await turns(isNearEnd(number) ? `${service} follows` : service, () => setImmediate());
    return found;
  };
}
