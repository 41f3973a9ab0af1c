/** The commit engine: keeps one queue for each key that calls wait for. */
import type { Clock } from "../ports/clock.ts";
import {
  type Engine,
  patienceMs,
  type ReadAhead,
  type TransactionRequest,
} from "../ports/engine.ts";
import { maxSilenceMs } from "../ports/store-silence.ts";
import {
  type CommitTallies,
  createCounter,
  createGauge,
  createHistogram,
} from "../ports/tallies.ts";
import { activeSpan } from "../ports/tracing.ts";
import type { Pending } from "./batch.ts";
import { contendedMs } from "./contention.ts";
import { type ItemStore, nameOf } from "./item-store.ts";
import { KeyQueue, type QueueContext } from "./key-queue.ts";
import { RetryBudget } from "./retry-budget.ts";
import { throttledMs } from "./store-requests.ts";

/** The dependencies of the engine. `random` returns numbers in [0, 1). */
interface EngineDeps {
  readonly store: ItemStore;
  readonly clock: Clock;
  readonly random?: () => number;
}

const createTallies = (): CommitTallies => ({
  results: createCounter("meguri_commits_total", "Attempts to commit a transaction, by result.", [
    "result",
  ]),
  batchCalls: createHistogram(
    "meguri_commit_batch_calls",
    "The calls of each transaction that was sent.",
    [],
    [1, 2, 4, 8, 16, 32, 64, 100],
  ),
  queuedCalls: createGauge(
    "meguri_queued_calls",
    "Calls in the commit engine that have no answer yet.",
  ),
  retriesWaiting: createGauge(
    "meguri_retries_waiting",
    "Batches that wait to send a request again.",
  ),
});

/**
 * The commit engine (see `Engine`). Coalesces the calls of one process on one key into one
 * transaction, and keeps what it committed for a second. Resolves version conflicts and ambiguous
 * results itself, so that no caller has to handle one.
 */
export class CommitEngine implements Engine {
  readonly tallies = createTallies();
  readonly #context: QueueContext;
  readonly #queues = new Map<string, KeyQueue>();
  /** Queues without calls, in the order in which they became idle. */
  readonly #idle = new Set<KeyQueue>();

  constructor({ store, clock, random = Math.random }: EngineDeps) {
    const pace = { random, commitMs: 10 };
    const { tallies } = this;
    this.#context = { store, clock, retries: new RetryBudget(random, tallies), pace, tallies };
  }

  transact<R>(request: TransactionRequest<R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const start = performance.now();
      const limit = Math.min(
        request.call?.deadline ?? Number.POSITIVE_INFINITY,
        start + patienceMs,
      );
      const checkMs = request.failsSoon ? throttledMs : maxSilenceMs;
      const queue = this.#queueOf(nameOf(request.key));
      const { requests } = queue;
      let timer: NodeJS.Timeout;
      /** Rejects the call when its time is over, even while the queue waits for the store. */
      const watch = () => {
        const now = performance.now();
        const end = requests.endOf(pending);
        if (end <= now) pending.reject(requests.tooLate(pending));
        else timer = setTimeout(watch, Math.min(end - now, checkMs));
      };
      const answered = () => {
        if (!pending.isAnswered) this.tallies.queuedCalls.dec();
        pending.isAnswered = true;
        clearTimeout(timer);
      };
      const pending: Pending = {
        request,
        span: activeSpan(),
        start,
        limit,
        tried: false,
        isAnswered: false,
        alone: false,
        needed: [],
        readSet: [],
        resolve(value) {
          answered();
          resolve(value as R);
        },
        reject(error) {
          answered();
          reject(error);
        },
      };
      timer = setTimeout(watch, Math.min(Math.max(limit - start, 0), checkMs));
      queue.add(pending);
      this.tallies.queuedCalls.inc();
      if (!queue.isServing) void this.#serve(queue);
    });
  }

  async readAhead(requests: Parameters<ReadAhead>[0]): Promise<void> {
    const at = performance.now();
    const refs = requests.flatMap(({ readSet }) => readSet);
    const loaded = await this.#context.store.read(refs).catch(() => undefined);
    if (!loaded) return;
    let read = 0;
    for (const { key, readSet } of requests) {
      const queue = this.#queueOf(nameOf(key));
      const records = loaded.slice(read, read + readSet.length);
      read += readSet.length;
      // The calls of a queue that is being served read their records themselves.
      if (queue.isServing) continue;
      queue.records.keep(readSet, records, at);
      queue.idleSince = performance.now();
      this.#keepIdle(queue);
    }
  }

  /** How many keys have a queue. */
  get keyCount(): number {
    return this.#queues.size;
  }

  /** How many keys have calls, or a request that is under way for calls that were given up. */
  get busyKeyCount(): number {
    return this.#queues.size - this.#idle.size;
  }

  #queueOf(key: string): KeyQueue {
    const found = this.#queues.get(key);
    if (found) return found;
    const queue = new KeyQueue(key, this.#context);
    this.#queues.set(key, queue);
    return queue;
  }

  async #serve(queue: KeyQueue): Promise<void> {
    this.#idle.delete(queue);
    await queue.serve();
    // A call that came just after the last one has begun to serve the queue again.
    if (!queue.isServing) this.#keepIdle(queue);
  }

  /** Keeps a queue without calls for as long as its key may count as contended. */
  #keepIdle(queue: KeyQueue): void {
    // Moves a queue that is there already behind those that became idle before.
    this.#idle.delete(queue);
    this.#idle.add(queue);
    for (const oldest of this.#idle) {
      if (oldest.idleSince > queue.idleSince - contendedMs) break;
      this.#idle.delete(oldest);
      this.#queues.delete(oldest.key);
    }
  }
}
