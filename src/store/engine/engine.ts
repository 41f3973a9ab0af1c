/** The commit engine: one queue for each key that calls wait for. */
import type { Clock } from "../../app/ports/clock.ts";
import type { Engine, TransactionRequest } from "../../app/ports/engine.ts";
import type { Pending } from "./batch.ts";
import { type ItemStore, nameOf } from "./item-store.ts";
import { contendedMs, KeyQueue, type QueueContext } from "./key-queue.ts";
import { RetryBudget } from "./retry-budget.ts";

/** A call that has not won after this long is given up. */
const patienceMs = 5_000;

/** What the engine depends on. `random` is in [0, 1). */
interface EngineDeps {
  readonly store: ItemStore;
  readonly clock: Clock;
  readonly random?: () => number;
}

/**
 * The commit engine (see `Engine`). Calls of one process on one key are coalesced into one
 * transaction; state that it committed is kept for a second; version conflicts and ambiguous
 * results are settled here, so that no caller ever sees one.
 */
export class CommitEngine implements Engine {
  readonly #context: QueueContext;
  readonly #queues = new Map<string, KeyQueue>();
  /** Queues without calls, in the order in which they became idle. */
  readonly #idle = new Set<KeyQueue>();

  constructor({ store: items, clock, random = Math.random }: EngineDeps) {
    this.#context = { store: items, clock, random, retries: new RetryBudget(random), commitMs: 10 };
  }

  transact<R>(call: TransactionRequest<R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const start = performance.now();
      const limit = Math.min(call.deadline ?? Number.POSITIVE_INFINITY, start + patienceMs);
      const queue = this.#queueOf(nameOf(call.key));
      // Whatever the queue is waiting for, its callers are not kept beyond their limits.
      const late = () => pending.reject(queue.tooLate(pending));
      const timer = setTimeout(late, Math.max(limit - start, 0));
      const pending: Pending = {
        request: call,
        start,
        limit,
        tried: false,
        readSet: [],
        resolve(value) {
          clearTimeout(timer);
          resolve(value as R);
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      queue.add(pending);
      if (!queue.isServing) void this.#serve(queue);
    });
  }

  /** How many keys it holds something for. */
  get keyCount(): number {
    return this.#queues.size;
  }

  #queueOf(key: string): KeyQueue {
    const found = this.#queues.get(key);
    if (found) return found;
    const queue = new KeyQueue(key, this.#context);
    this.#queues.set(key, queue);
    return queue;
  }

  /** Serves a queue, and keeps it idle for as long as it may know its key to be contended. */
  async #serve(queue: KeyQueue): Promise<void> {
    this.#idle.delete(queue);
    await queue.serve();
    this.#idle.add(queue);
    for (const other of this.#idle) {
      if (other.idleSince > queue.idleSince - contendedMs) break;
      this.#idle.delete(other);
      this.#queues.delete(other.key);
    }
  }
}
