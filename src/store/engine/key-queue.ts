/** The calls of one process on one key: one batch at a time is decided, validated and committed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../app/ports/clock.ts";
import type { Ref } from "../../app/ports/records.ts";
import { DomainError, type Reason } from "../../domain/errors.ts";
import { type Batch, decide, deliver, type Pending } from "./batch.ts";
import { commitUntilDefinite } from "./definite-commit.ts";
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
import { StoreSilence } from "./store-silence.ts";

/** How long a key counts as contended after a conflict with another process. */
export const contendedMs = 3_000;

/** A queue of more calls than this is divided between two batches. */
const longQueue = 16;

/** How often in a row the records of a contended key are read before a batch is sent anyway. */
const maxUncontendedReads = 8;

/**
 * After so many commits in this time, a process pauses: other processes, whose versions are always
 * old, would starve behind one that always knows the latest.
 */
const commitsInTurn = 32;
const turnMs = 1_200;

/** How often a batch reads lookups, of records that keep changing. */
const maxLookupReads = 4;

/** What the queues of one engine share. */
export interface QueueContext {
  readonly store: ItemStore;
  readonly clock: Clock;
  readonly retries: RetryBudget;
  /** In [0, 1). */
  readonly random: () => number;
  /** A moving average of the time that a commit takes, in ms: the unit of all pauses. */
  commitMs: number;
}

export class KeyQueue {
  readonly key: string;
  /** Since when it has had no calls, by `performance.now()`. */
  idleSince = 0;
  readonly #context: QueueContext;
  readonly records: RecordCache;
  readonly #lookups: Lookups;
  #calls: Pending[] = [];
  #isServing = false;
  /** Why the calls at the head of the queue have not been served yet. */
  #failure: Reason = "CONTENDED";
  /** How many calls the last batch served. */
  #served = 0;
  /** Requests in a row that the store has throttled or not answered. */
  #retries = 0;
  readonly #silence = new StoreSilence();
  #contendedAt = Number.NEGATIVE_INFINITY;
  #turnAt = 0;
  #commits = 0;

  constructor(key: string, context: QueueContext) {
    this.key = key;
    this.#context = context;
    this.records = new RecordCache(context.store);
    this.#lookups = new Lookups({
      records: this.records,
      maxItems: context.store.maxItems,
      read: (lookup) => this.#silence.during(lookup.read()),
      readAtomically: (refs) => this.#readAtomicallySoon(refs),
    });
  }

  get isServing(): boolean {
    return this.#isServing;
  }

  get #isContended(): boolean {
    return this.#contendedAt > performance.now() - contendedMs;
  }

  add(pending: Pending): void {
    this.#calls.push(pending);
  }

  /** Serves all calls, including those that arrive meanwhile. */
  async serve(): Promise<void> {
    this.#isServing = true;
    this.#served = 0;
    while (this.#calls.length > 0) {
      if (this.#isContended) await this.#awaitUncontended();
      const calls = this.#admit();
      try {
        if (calls.length > 0) await this.#attempt(calls);
      } catch (error) {
        this.records.clear();
        const queued = new Set(this.#calls);
        const affected = calls.filter((pending) => !queued.has(pending));
        if (error instanceof DomainError && error.reason === "STORE_UNAVAILABLE") {
          await this.#backOff(affected);
        } else {
          for (const { reject } of affected) reject(error);
        }
      }
    }
    this.#lookups.clear();
    this.#silence.end();
    this.#isServing = false;
    this.idleSince = performance.now();
  }

  /** When a call stops waiting. */
  endOf(pending: Pending): number {
    return this.#silence.endOf(pending);
  }

  /** The error of a call whose time is over. */
  tooLate({ request, start, limit, tried }: Pending): DomainError {
    const isAway = this.#failure === "STORE_UNAVAILABLE" || this.#silence.hasDelayed(start);
    if (isAway) return unavailable();
    if (!tried && request.deadline === limit) {
      return new DomainError("DEADLINE", "the deadline passed before the call could be served");
    }
    return new DomainError("CONTENDED", "other calls kept changing the same records; try again");
  }

  /**
   * Under contention, reads the records of the waiting calls with TransactGetItems before it
   * decides a batch: a rejected read costs less than a cancelled transaction, and a successful one
   * validates refusals. Gives up after 8 tries, so that a busy process cannot starve this one.
   */
  async #awaitUncontended(): Promise<void> {
    for (let tries = 0; tries < maxUncontendedReads; tries++) {
      const [first] = this.#calls;
      if (!first || this.records.has(this.key)) return;
      const reads = this.#calls.flatMap(({ request, readSet }) => [...request.readSet, ...readSet]);
      const refs = distinct([first.request.key, ...reads]).slice(0, this.#context.store.maxItems);
      // An outage of the store is handled where the batch itself is read and committed.
      const isRead = await this.#readAtomically(refs).catch(() => undefined);
      if (isRead !== false) return;
      await this.#pause();
    }
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
      else pending.reject(this.tooLate(pending));
    }
    const half = Math.ceil((waiting.length + this.#served) / 2);
    const isHalved = waiting.length > longQueue && !this.#isContended;
    const { maxItems } = this.#context.store;
    const admitted = waiting.splice(0, isHalved ? Math.min(half, maxItems) : maxItems);
    this.#calls = waiting;
    this.records.dropExpired(now);
    return admitted;
  }

  /** Decides and commits one batch; calls that could not be served return to the queue's head. */
  async #attempt(calls: Pending[]): Promise<void> {
    const readSet = calls.flatMap(({ request }) => request.readSet);
    const missing = distinct(readSet).filter((ref) => !this.records.has(nameOf(ref)));
    await this.#silence.during(this.records.read(missing));
    const batch = await this.#decide(calls);
    if (!batch) return this.#retryContended(calls, performance.now());
    this.#calls.unshift(...batch.left);
    const served = batch.outcomes.map(({ pending }) => pending);
    for (const pending of served) pending.tried = true;
    this.#served = served.length;
    if (batch.writes.length === 0) {
      this.#recovered();
      return deliver(batch);
    }
    const sent = performance.now();
    const result = await this.#commit(batch.writes, served);
    if (result.kind !== "throttled" && result.kind !== "unknown") this.#recovered();
    switch (result.kind) {
      case "committed":
        return this.#committed(batch, sent);
      case "failed":
        return this.#failed(served, result.found, sent);
      case "conflict":
        return this.#retryContended(served, sent);
      case "throttled":
        return this.#backOff(served);
      case "unknown":
        this.records.clear();
        for (const { reject } of served) reject(unavailable());
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
      const now = await this.#silence.during(clock.now());
      const batch = decide(snapshot, this.#lookups, calls, now, store);
      if (batch.missing.length > 0) {
        lookupReads += 1;
        const isRead = await this.#lookups.read(batch.missing);
        if (!isRead || lookupReads > maxLookupReads) return undefined;
        if (this.#isContended) await this.#readAgain(calls);
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

  /**
   * Reads the records of a contended key again after a read that took long: other processes have
   * probably changed one meanwhile, which would cancel the transaction of the whole batch. If they
   * keep writing, the batch is sent anyway, so that a busy process cannot starve this one.
   */
  async #readAgain(calls: readonly Pending[]): Promise<void> {
    const refs = distinct(calls.flatMap(({ request }) => [request.key, ...request.readSet]));
    await this.#readAtomicallySoon(refs.slice(0, this.#context.store.maxItems));
  }

  /** Reads records at one moment; false when transactions keep writing them. */
  async #readAtomicallySoon(refs: readonly Ref[]): Promise<boolean> {
    for (let tries = 1; !(await this.#readAtomically(refs)); tries++) {
      if (tries === maxUncontendedReads) return false;
      await this.#pause();
    }
    return true;
  }

  async #committed(batch: Batch, sent: number): Promise<void> {
    const context = this.#context;
    this.#failure = "CONTENDED";
    context.commitMs += (Math.min(performance.now() - sent, 200) - context.commitMs) / 16;
    this.records.keepCommitted(batch, sent);
    // The next batch is sent before the answers of this one are written: a hot key needs both.
    if (this.#calls.length > 0) setImmediate(deliver, batch);
    else deliver(batch);
    if (!this.#isContended) return this.#endTurn();
    // Leaves the next turns to other processes, each of which reads and commits: without this pause
    // a call costs more than 1.5 times as many write units.
    this.records.clear();
    await sleep(context.commitMs * (3 + 4 * context.random()));
  }

  /** Pauses after many commits in a short time, for as long as another process needs to commit. */
  async #endTurn(): Promise<void> {
    if (++this.#commits < commitsInTurn) return;
    const now = performance.now();
    const isBusy = now - this.#turnAt < turnMs;
    [this.#commits, this.#turnAt] = [0, now];
    if (isBusy) await sleep(3 * this.#context.commitMs);
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
    if (this.#isContended) this.records.delete(this.key);
    this.#contendedAt = sent;
    await this.#retry(calls);
  }

  /** After a conflict with a transaction in flight, which makes all cached records stale. */
  async #retryContended(calls: readonly Pending[], at: number): Promise<void> {
    this.#contendedAt = at;
    this.records.clear();
    await this.#retry(calls);
  }

  /** After a version conflict: the calls return to the queue, which pauses for about one commit. */
  async #retry(calls: readonly Pending[]): Promise<void> {
    this.#failure = "CONTENDED";
    this.#calls.unshift(...calls);
    await this.#pause();
  }

  #commit(writes: readonly Write[], calls: readonly Pending[]): Promise<CommitResult> {
    const { store } = this.#context;
    return commitUntilDefinite(
      (token) =>
        this.#silence.during(store.commit(writes, token), ({ kind }) => kind !== "unknown"),
      () => calls.some(({ isAnswered }) => !isAnswered),
      () => this.#backOff([]),
    );
  }

  /** After a throttled or unanswered request: the calls return, and each wait is longer. */
  async #backOff(calls: readonly Pending[]): Promise<void> {
    this.#failure = "STORE_UNAVAILABLE";
    this.#calls.unshift(...calls);
    await this.#context.retries.wait(this.#retries++);
  }

  #recovered(): void {
    if (this.#retries > 0) this.#context.retries.succeeded();
    this.#retries = 0;
    this.#failure = "CONTENDED";
  }

  /** A jitter that does not grow: a process that waits longer than other processes never wins. */
  async #pause(): Promise<void> {
    await sleep(2 * this.#context.commitMs * this.#context.random());
  }

  /** Reads records at one moment; false when a transaction is writing one of them. */
  async #readAtomically(refs: readonly Ref[]): Promise<boolean> {
    const at = performance.now();
    const isRead = await this.#silence.during(this.records.readAtomically(refs));
    if (!isRead) this.#contendedAt = at;
    return isRead;
  }
}

const unavailable = () =>
  new DomainError(
    "STORE_UNAVAILABLE",
    "the store gave no answer; the same call may safely be sent again",
  );
