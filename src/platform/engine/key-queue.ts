/** The calls of one process on one key: one batch at a time is decided, validated and committed. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../ports/clock.ts";
import { type ClockReading, readClocks } from "../ports/clock-reading.ts";
import type { Ref } from "../ports/records.ts";
import type { CommitTallies } from "../ports/tallies.ts";
import { DomainError } from "../words/errors.ts";
import {
  type Batch,
  decide,
  deliver,
  type Outcome,
  type Pending,
  readsOf,
  traceBatch,
} from "./batch.ts";
import { Contention, type Pace } from "./contention.ts";
import {
  type CommitResult,
  distinct,
  type ItemStore,
  type Loaded,
  nameOf,
  type Write,
} from "./item-store.ts";
import { Lookups } from "./lookups.ts";
import { RecordCache } from "./record-cache.ts";
import type { RetryBudget } from "./retry-budget.ts";
import { notServed, StoreRequests, type Trouble, troubleOf } from "./store-requests.ts";

/** A queue of more calls than this is divided between two batches. */
const longQueue = 16;

/** How often a batch reads lookups, of records that keep changing. */
const maxLookupReads = 4;

/** The label that counts each result of a commit. An error without a result is `refused`. */
const labels = {
  committed: "committed",
  failed: "conflict",
  conflict: "conflict",
  throttled: "throttled",
  unknown: "ambiguous",
} as const;

/** The dependencies that all queues of one engine share. */
export interface QueueContext {
  readonly store: ItemStore;
  readonly clock: Clock;
  readonly retries: RetryBudget;
  readonly pace: Pace;
  readonly tallies: CommitTallies;
}

export class KeyQueue {
  readonly key: string;
  /** Since when it has had no calls, by `performance.now()`. */
  idleSince = 0;
  readonly records: RecordCache;
  readonly requests: StoreRequests;
  readonly #context: QueueContext;
  readonly #contention: Contention;
  readonly #lookups: Lookups;
  #calls: Pending[] = [];
  #isServing = false;
  /** How many calls the last batch served. */
  #served = 0;

  constructor(key: string, context: QueueContext) {
    this.key = key;
    this.#context = context;
    this.#contention = new Contention(context.pace);
    this.requests = new StoreRequests(context.retries);
    this.records = new RecordCache(context.store);
    this.#lookups = new Lookups({
      records: this.records,
      maxItems: context.store.maxItems,
      read: (lookup) => this.requests.watch(lookup.read()),
      readAtomically: (refs) => this.#contention.untilRead(() => this.#readAtomically(refs)),
    });
  }

  get isServing(): boolean {
    return this.#isServing;
  }

  add(pending: Pending): void {
    this.#calls.push(pending);
  }

  /** Serves all calls, including those that arrive meanwhile. */
  async serve(): Promise<void> {
    this.#isServing = true;
    this.#served = 0;
    while (this.#calls.length > 0) {
      if (this.#contention.isContended) await this.#awaitUncontended();
      const calls = this.#admit();
      try {
        if (calls.length > 0) await traceBatch(calls, () => this.#attempt(calls));
      } catch (error) {
        this.records.clear();
        const queued = new Set(this.#calls);
        const affected = calls.filter((pending) => !queued.has(pending));
        const trouble = troubleOf(error);
        if (trouble) await this.#backOff(affected, trouble);
        else this.#fail(affected, error);
      }
    }
    this.#lookups.clear();
    this.requests.end();
    this.#isServing = false;
    this.idleSince = performance.now();
  }

  /**
   * Under contention, reads the records of the waiting calls with TransactGetItems before it
   * decides a batch: a rejected read costs less than a cancelled transaction, and a successful one
   * validates refusals.
   */
  async #awaitUncontended(): Promise<void> {
    await this.#contention.untilRead(async () => {
      const [first] = this.#calls;
      if (!first || this.records.has(this.key)) return true;
      const reads = this.#calls.flatMap(({ readSet }) => readSet);
      const all = [first.request.key, ...readsOf(this.#calls), ...reads];
      const refs = distinct(all).slice(0, this.#context.store.maxItems);
      // A store without an answer is handled where the batch itself is read and committed.
      return await this.#readAtomically(refs).catch(() => true);
    });
  }

  /**
   * Takes the calls of the next batch and rejects those that have waited too long. Takes half of a
   * long queue (the callers of the last batch will return), so that batches keep one size
   * (docs/decisions/0012).
   */
  #admit(): Pending[] {
    const now = performance.now();
    const waiting: Pending[] = [];
    for (const pending of this.#calls) {
      if (pending.isAnswered) continue;
      if (pending.limit > now) waiting.push(pending);
      else pending.reject(this.requests.tooLate(pending));
    }
    const admitted = waiting.splice(0, this.#batchSize(waiting));
    this.#calls = waiting;
    this.records.dropExpired(now);
    return admitted;
  }

  #batchSize(waiting: readonly Pending[]): number {
    if (waiting[0]?.alone) return 1;
    const { maxItems } = this.#context.store;
    const isHalved = waiting.length > longQueue && !this.#contention.isContended;
    return isHalved ? Math.min(Math.ceil((waiting.length + this.#served) / 2), maxItems) : maxItems;
  }

  /** Decides and commits one batch; calls that could not be served return to the queue's head. */
  async #attempt(calls: Pending[]): Promise<void> {
    const started = readClocks();
    await this.#readUnknown(readsOf(calls));
    const batch = await this.#decide(calls);
    if (!batch) return this.#retryContended(calls, performance.now());
    this.#calls.unshift(...batch.left);
    const served = batch.outcomes.map(({ pending }) => pending);
    for (const pending of served) pending.tried = true;
    this.#served = served.length;
    if (batch.writes.length === 0) {
      this.requests.succeeded();
      return deliver(batch);
    }
    this.#context.tallies.batchCalls.observe(served.length);
    const sent = performance.now();
    const result = await this.#commit(batch, started);
    if (result.kind !== "throttled" && result.kind !== "unknown") this.requests.succeeded();
    switch (result.kind) {
      case "committed":
        return this.#committed(batch, sent);
      case "failed":
        return this.#failed(served, result.found, sent);
      case "conflict":
        return this.#retryContended(served, sent);
      case "throttled":
        return this.#backOff(served, "THROTTLED");
      case "unknown":
        this.records.clear();
        for (const { reject } of served) reject(notServed("STORE_UNAVAILABLE"));
    }
  }

  /**
   * Sends the identical transaction under one token until the result is definite or no caller waits
   * any longer. After an ambiguous result, a conflict or a throttled request says nothing about the
   * request before it.
   */
  async #commit({ outcomes, writes }: Batch, started: ClockReading): Promise<CommitResult> {
    const token = randomUUID();
    let isAmbiguous = false;
    for (;;) {
      const result = await this.#send(writes, token, started);
      isAmbiguous ||= result.kind === "unknown";
      if (!isAmbiguous || result.kind === "committed" || result.kind === "failed") return result;
      await this.requests.backOff(result.kind === "throttled" ? "THROTTLED" : "STORE_UNAVAILABLE");
      const now = performance.now();
      // By the clock, too: the timers of a process that was stopped come late.
      const isAwaited = ({ pending: { isAnswered, limit } }: Outcome) => !isAnswered && limit > now;
      if (!outcomes.some(isAwaited)) return { kind: "unknown" };
    }
  }

  async #send(
    writes: readonly Write[],
    token: string,
    started: ClockReading,
  ): Promise<CommitResult> {
    const { store, tallies } = this.#context;
    try {
      const request = store.commit(writes, token, started);
      const result = await this.requests.watch(request, ({ kind }) => kind !== "unknown");
      tallies.results.inc({ result: labels[result.kind] });
      return result;
    } catch (error) {
      tallies.results.inc({ result: "refused" });
      throw error;
    }
  }

  /**
   * Decides until everything that the outcomes depend on has been read and validated. Undefined
   * when a record to read is in a transaction, or when what is looked up keeps changing.
   */
  async #decide(calls: readonly Pending[]): Promise<Batch | undefined> {
    const { store, clock } = this.#context;
    const { snapshot } = this.records;
    for (let lookupReads = 0; ; ) {
      const now = await this.requests.watch(clock.now());
      const batch = decide(snapshot, this.#lookups, calls, now, store);
      if (batch.needed.length > 0) {
        for (const { pending, refs } of batch.needed) pending.needed.push(...refs);
        await this.#readUnknown(batch.needed.flatMap(({ refs }) => refs));
        const lookups = batch.needed.flatMap(({ lookup }) => lookup ?? []);
        if (lookups.length > 0) {
          lookupReads += 1;
          const isRead = await this.#lookups.read(lookups);
          if (!isRead || lookupReads > maxLookupReads) return undefined;
        }
        if (this.#contention.isContended) await this.#readAgain(calls);
        continue;
      }
      const refs = this.records.toValidate(batch.outcomes);
      if (refs.length === 0) return batch;
      for (const { pending, readSet, writes } of batch.outcomes) {
        pending.readSet = writes ? [] : [...readSet.values()];
      }
      if (!(await this.#readAtomically(refs))) return undefined;
    }
  }

  /** Reads those of the records that the snapshot does not have, each at its own moment. */
  async #readUnknown(refs: readonly Ref[]): Promise<void> {
    const unknown = distinct(refs).filter((ref) => !this.records.has(nameOf(ref)));
    await this.requests.watch(this.records.read(unknown));
  }

  /**
   * Reads the records of a contended key again after a read that took long: other processes have
   * probably changed one meanwhile, which would cancel the transaction of the whole batch. If they
   * keep writing, the batch is sent anyway, so that a busy process cannot starve this one.
   */
  async #readAgain(calls: readonly Pending[]): Promise<void> {
    const refs = distinct([...calls.map(({ request }) => request.key), ...readsOf(calls)]);
    const read = refs.slice(0, this.#context.store.maxItems);
    await this.#contention.untilRead(() => this.#readAtomically(read));
  }

  async #committed(batch: Batch, sent: number): Promise<void> {
    this.#contention.committed(sent);
    this.records.keepCommitted(batch, sent);
    // The next batch is sent before the answers of this one are written: a hot key needs both.
    if (this.#calls.length > 0) setImmediate(deliver, batch);
    else deliver(batch);
    // Other processes write during the pauses of this one.
    if (this.#contention.isContended) this.records.clear();
    await this.#contention.endTurn();
  }

  /** After failed conditions: the records that were found are what the next decision needs. */
  async #failed(
    calls: readonly Pending[],
    found: ReadonlyMap<Ref, Loaded>,
    sent: number,
  ): Promise<void> {
    const isReplay = this.records.keepFound(calls, found, sent);
    if (isReplay) {
      this.#calls.unshift(...calls);
      return;
    }
    // On a contended key, the record that was found changes again before the next try.
    if (this.#contention.isContended) this.records.delete(this.key);
    await this.#retry(calls, sent);
  }

  /** After a conflict with a transaction in flight, which makes all cached records stale. */
  async #retryContended(calls: readonly Pending[], sent: number): Promise<void> {
    this.records.clear();
    await this.#retry(calls, sent);
  }

  /** After a version conflict: the calls return to the queue, which pauses for about one commit. */
  async #retry(calls: readonly Pending[], sent: number): Promise<void> {
    this.#contention.conflicted(sent);
    this.requests.served();
    this.#calls.unshift(...calls);
    await this.#contention.pause();
  }

  /** After a throttled or unanswered request: the calls return, and each wait is longer. */
  async #backOff(calls: readonly Pending[], trouble: Trouble): Promise<void> {
    this.#calls.unshift(...calls);
    await this.requests.backOff(trouble);
  }

  /**
   * After an error that no code expects, such as an item that is too large: one of the calls is its
   * cause, so each is decided alone once. A retryable error, of the clock, concerns all of them.
   */
  #fail(calls: readonly Pending[], error: unknown): void {
    const concernsAll = error instanceof DomainError && error.retryable;
    if (calls.length > 1 && !concernsAll) {
      for (const call of calls) call.alone = true;
      this.#calls.unshift(...calls);
      return;
    }
    for (const { reject } of calls) reject(error);
  }

  /** Reads records at one moment; false when a transaction is writing one of them. */
  async #readAtomically(refs: readonly Ref[]): Promise<boolean> {
    const sent = performance.now();
    const isRead = await this.requests.watch(this.records.readAtomically(refs));
    if (!isRead) this.#contention.conflicted(sent);
    return isRead;
  }
}
