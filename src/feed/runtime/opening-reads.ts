/** Reads the inboxes of opened streams in batches, strongly consistently. */
import pLimit from "p-limit";
import { isThrottled, maxThrottled } from "../../platform/streams/throttled-batches.ts";
import type { Reader } from "../ports/deps.ts";
import { inboxRef } from "../ports/records.ts";
import { emptyInbox, type Inbox } from "../rules/inbox.ts";

/** How many inboxes one request reads, and how many requests are in flight at once. */
const batchSize = 100;
const concurrency = 4;

/** Owners whose inboxes one request reads once it is sent. */
interface Batch {
  readonly ownerIds: Set<string>;
  /** By owner, because the read of one may fail alone. */
  readonly inboxes: Promise<ReadonlyMap<string, Promise<Inbox>>>;
}

/**
 * Returns a function that reads the inbox of an owner; an unknown owner has an empty one. A call
 * joins a request that has not been sent: one that has may not see what was stored before the call.
 * Throws what the reader throws.
 */
export function createOpeningReads(
  reader: Pick<Reader, "many">,
): (ownerId: string) => Promise<Inbox> {
  const limit = pLimit(concurrency);
  /** The last batch, until it is sent. */
  let waiting: Batch | undefined;

  async function read(ownerIds: readonly string[]): Promise<Inbox[]> {
    const inboxes = await reader.many(ownerIds.map(inboxRef));
    return inboxes.map((inbox) => inbox ?? emptyInbox);
  }

  /**
   * If the batch is throttled, reads each owner alone, because few of them may be throttled. When
   * several are, the remaining owners fail like the batch.
   */
  async function readBatch(ownerIds: readonly string[]): Promise<Map<string, Promise<Inbox>>> {
    try {
      const inboxes = await read(ownerIds);
      return new Map(ownerIds.map((id, i) => [id, Promise.resolve(inboxes[i] as Inbox)]));
    } catch (error) {
      if (ownerIds.length === 1 || !isThrottled(error)) throw error;
      let throttledCount = 0;
      const readAlone = async (id: string) => {
        if (throttledCount >= maxThrottled) throw error;
        try {
          return (await read([id]))[0] as Inbox;
        } catch (ownError) {
          throttledCount += 1;
          throw ownError;
        }
      };
      return new Map(ownerIds.map((id) => [id, limit(readAlone, id)]));
    }
  }

  function createBatch(): Batch {
    const ownerIds = new Set<string>();
    const inboxes = limit(() => {
      if (waiting === batch) waiting = undefined;
      return readBatch([...ownerIds]);
    });
    const batch: Batch = { ownerIds, inboxes };
    return batch;
  }

  return async (ownerId) => {
    const isFull = waiting?.ownerIds.size === batchSize && !waiting.ownerIds.has(ownerId);
    if (!waiting || isFull) waiting = createBatch();
    waiting.ownerIds.add(ownerId);
    return (await waiting.inboxes).get(ownerId) as Promise<Inbox>;
  };
}
