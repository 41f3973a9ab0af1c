/** The calls of one process on one key: one batch at a time is decided, validated and committed. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../app/ports/clock.ts";
import type { MembersQuery } from "../../app/ports/engine.ts";
import { type Ref, reactionRef } from "../../app/ports/records.ts";
import { DomainError, type Reason } from "../../domain/errors.ts";
import { maxWhole } from "../../domain/notification.ts";
import type { Reaction } from "../../domain/target.ts";
import {
  type Batch,
  type CachedRecord,
  decide,
  type GroupMembers,
  type Pending,
  queryName,
  type Snapshot,
} from "./batch.ts";
import {
  type CommitResult,
  type ItemStore,
  type Loaded,
  nameOf,
  type Write,
} from "./item-store.ts";
import { toValidate, type Validated } from "./read-validation.ts";
import type { RetryBudget } from "./retry-budget.ts";

/** A store that has not answered for this long is called silent. */
const silenceMs = 500;

/** How long a committed record may serve the next batch of the same key. */
const cacheMs = 1_000;

/** How long a key counts as contended after a conflict with another process. */
export const contendedMs = 3_000;

/** A queue of more calls than this is shared out between two batches. */
const longQueue = 16;

/** How often in a row the records of a contended key are read before a batch goes out anyway. */
const maxUncontendedReads = 8;

/** How often a batch reads the members of groups that others keep changing. */
const maxQueries = 4;

const nothingValidated: Validated = { records: new Set(), at: Number.NEGATIVE_INFINITY };

/** What the queues of one engine share. */
export interface QueueContext {
  readonly store: ItemStore;
  readonly clock: Clock;
  readonly retries: RetryBudget;
  /** In [0, 1). */
  readonly random: () => number;
  /** A moving average of what a commit takes, in milliseconds: the unit of waiting. */
  commitMs: number;
}

export class KeyQueue {
  readonly key: string;
  /** Since when it has had no calls, by `performance.now()`. */
  idleSince = 0;
  readonly #context: QueueContext;
  #calls: Pending[] = [];
  #isServing = false;
  #snapshot: Snapshot = new Map();
  #validated = nothingValidated;
  /** Why the calls at the head have not been served yet. */
  #failure: Reason = "CONTENDED";
  /** How many calls the last batch served. */
  #served = 0;
  /** Requests in a row that the store has throttled or not answered. */
  #retries = 0;
  /** Since when the store has owed an answer, if it does. */
  #requestedAt: number | undefined;
  #contendedAt = Number.NEGATIVE_INFINITY;

  constructor(key: string, context: QueueContext) {
    this.key = key;
    this.#context = context;
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

  /** Serves all calls, those that come in meanwhile included. */
  async serve(): Promise<void> {
    this.#isServing = true;
    this.#served = 0;
    while (this.#calls.length > 0) {
      if (this.#isContended) await this.#awaitUncontended();
      const calls = this.#admit();
      try {
        if (calls.length > 0) await this.#attempt(calls);
      } catch (error) {
        this.#snapshot.clear();
        const queued = new Set(this.#calls);
        const hit = calls.filter((pending) => !queued.has(pending));
        if (error instanceof DomainError && error.reason === "STORE_UNAVAILABLE") {
          await this.#backOff(hit);
        } else {
          for (const { reject } of hit) reject(error);
        }
      }
    }
    this.#isServing = false;
    this.idleSince = performance.now();
  }

  /** The error of a call whose time is over. */
  tooLate({ request: call, limit, tried }: Pending): DomainError {
    if (!tried && call.deadline === limit) {
      return new DomainError("DEADLINE", "the deadline passed before the call could be served");
    }
    const at = this.#requestedAt;
    const isSilent = at !== undefined && at < performance.now() - silenceMs;
    if (isSilent || this.#failure === "STORE_UNAVAILABLE") return unavailable();
    return new DomainError("CONTENDED", "others kept changing the same records; try again");
  }

  /**
   * On a contended key, reads what the waiting calls look at with TransactGetItems before a batch
   * is decided: a read that is rejected costs less than a cancelled transaction, and one that is
   * answered validates refusals. Gives up after some tries, so that a busy process cannot starve
   * this one.
   */
  async #awaitUncontended(): Promise<void> {
    for (let tries = 0; tries < maxUncontendedReads; tries++) {
      const [first] = this.#calls;
      if (!first || this.#snapshot.has(this.key)) return;
      const reads = this.#calls.flatMap(({ request: call, readSet }) => [
        ...call.readSet,
        ...readSet,
      ]);
      const refs = distinct([first.request.key, ...reads]).slice(0, this.#context.store.maxItems);
      // What is wrong with the store shows in the batch's own requests.
      const isRead = await this.#readAtomically(refs).catch(() => undefined);
      if (isRead !== false) return;
      await this.#pause();
    }
  }

  /**
   * Takes as many calls as may fit into one batch, but drops those that have waited too long. Takes
   * half of a long queue (the callers of the last batch will return), so that batches keep one size
   * (docs/decisions/0012).
   */
  #admit(): Pending[] {
    const now = performance.now();
    const waiting: Pending[] = [];
    for (const pending of this.#calls) {
      if (pending.limit > now) waiting.push(pending);
      else pending.reject(this.tooLate(pending));
    }
    const half = Math.ceil((waiting.length + this.#served) / 2);
    const isHalved = waiting.length > longQueue && !this.#isContended;
    const { maxItems } = this.#context.store;
    const admitted = waiting.splice(0, isHalved ? Math.min(half, maxItems) : maxItems);
    this.#calls = waiting;
    for (const [name, { at }] of this.#snapshot) {
      if (at < now - cacheMs) this.#snapshot.delete(name);
    }
    return admitted;
  }

  /** Decides and commits one batch; calls that could not be served go back to the queue's head. */
  async #attempt(calls: Pending[]): Promise<void> {
    const reads = calls.flatMap(({ request: call }) => call.readSet);
    await this.#read(distinct(reads).filter((ref) => !this.#snapshot.has(nameOf(ref))));
    const batch = await this.#decide(calls);
    if (!batch) {
      this.#contendedAt = performance.now();
      this.#snapshot.clear();
      return this.#retry(calls);
    }
    this.#calls.unshift(...batch.left);
    const served = batch.outcomes.map(({ pending }) => pending);
    for (const pending of served) pending.tried = true;
    this.#served = served.length;
    if (batch.writes.length === 0) {
      this.#recovered();
      return deliver(batch);
    }
    const sent = performance.now();
    const result = await this.#awaiting(this.#commit(batch.writes, served));
    if (result.kind !== "throttled" && result.kind !== "unknown") this.#recovered();
    switch (result.kind) {
      case "committed":
        return this.#committed(batch, sent);
      case "failed":
        return this.#failed(served, result.found, sent);
      case "conflict":
        this.#contendedAt = sent;
        this.#snapshot.clear();
        return this.#retry(served);
      case "throttled":
        return this.#backOff(served);
      case "unknown":
        this.#snapshot.clear();
        for (const { reject } of served) reject(unavailable());
    }
  }

  /**
   * Decides until everything that the outcomes rest on has been read and validated. Nothing when a
   * record that has to be read is in a transaction, or has changed around a query of members.
   */
  async #decide(calls: readonly Pending[]): Promise<Batch | undefined> {
    const { store: items, clock } = this.#context;
    const members: GroupMembers = new Map();
    let queries = 0;
    for (;;) {
      const batch = decide(this.#snapshot, members, calls, await clock.now(), items);
      if (batch.missing) {
        queries += 1;
        const isRead = await this.#readMembers(batch.missing, batch.left[0] as Pending, members);
        if (!isRead || queries > maxQueries) return undefined;
        continue;
      }
      const refs = toValidate(batch.outcomes, this.#snapshot, this.#validated);
      if (refs.length === 0) return batch;
      for (const { pending, readSet, writes } of batch.outcomes) {
        pending.readSet = writes ? [] : [...readSet.values()];
      }
      const versions = this.#versionsOf(refs);
      if (!(await this.#readAtomically(refs))) return undefined;
      if (members.size > 0 && versions !== this.#versionsOf(refs)) return undefined;
    }
  }

  /**
   * Reads the members of a group. A query may miss a row that a transaction has still to apply, or
   * show one that it has still to delete, although the inbox shows the transaction already. So the
   * rows of a whole group are read once more, at one moment with what the call looks at: each as it
   * was, and as many as the group has by then, they are its members. That also leaves only the
   * commit for others to come in between. False when a row has changed or is in a transaction.
   */
  async #readMembers(
    query: MembersQuery,
    { request: call }: Pending,
    members: GroupMembers,
  ): Promise<boolean> {
    const found = await this.#awaiting(this.#context.store.groupMembers(query));
    if (query.whole === undefined) {
      members.set(queryName(query), found);
      this.#validated = nothingValidated;
      return true;
    }
    const rows = found.first.map(({ target, kind, userId }) => reactionRef(target, kind, userId));
    if (rows.length > maxWhole) return false;
    const refs = distinct([...call.readSet, ...rows]);
    for (let tries = 1; !(await this.#readAtomically(refs)); tries++) {
      if (tries === maxUncontendedReads) return false;
      await this.#pause();
    }
    members.set(queryName({ ...query, whole: found.count }), found);
    return found.first.every(({ version }, i) => {
      const row = this.#snapshot.get(nameOf(rows[i] as Ref))?.value as Reaction | undefined;
      return row?.version === version;
    });
  }

  #versionsOf(refs: readonly Ref[]): string {
    return refs.map((ref) => this.#snapshot.get(nameOf(ref))?.version ?? 0).join();
  }

  async #committed(batch: Batch, sent: number): Promise<void> {
    const context = this.#context;
    this.#failure = "CONTENDED";
    context.commitMs += (Math.min(performance.now() - sent, 200) - context.commitMs) / 16;
    const shared = new Set(
      batch.outcomes.flatMap(({ pending }) => pending.request.readSet.map(nameOf)),
    );
    this.#snapshot.clear();
    for (const { ref, op, value, next } of batch.writes) {
      const name = nameOf(ref);
      if (op === "check" || !shared.has(name)) continue;
      this.#snapshot.set(name, { ref, value, version: next, at: sent });
    }
    // The next batch goes first: the store would stand still while so many answers are written.
    if (this.#calls.length > 0) setImmediate(deliver, batch);
    else deliver(batch);
    if (!this.#isContended) return;
    // Leaves the next turns to other processes, each of which reads and commits: without this pause
    // a call takes more than half as many write units again.
    this.#snapshot.clear();
    await sleep(context.commitMs * (3 + 4 * context.random()));
  }

  /**
   * What was found instead is all that the next decision needs. A record that nobody has named, a
   * ledger entry, is there only when the state that the batch was decided on is out of date.
   */
  async #failed(
    calls: readonly Pending[],
    found: ReadonlyMap<Ref, Loaded>,
    sent: number,
  ): Promise<void> {
    const own = new Set(calls.flatMap(({ request: call }) => call.expectAbsent.map(nameOf)));
    const shared = new Set(calls.flatMap(({ request: call }) => call.readSet.map(nameOf)));
    const names = [...found.keys()].map(nameOf);
    if (!names.some((name) => shared.has(name) || own.has(name))) this.#snapshot.clear();
    for (const [ref, loaded] of found) {
      const name = nameOf(ref);
      if (shared.has(name) || own.has(name)) {
        this.#snapshot.set(name, { ...loaded, ref, at: sent });
      }
    }
    if (names.every((name) => own.has(name) && !shared.has(name))) {
      this.#calls.unshift(...calls);
      return;
    }
    // On a contended key, what was found does not last until the next try.
    if (this.#isContended) this.#snapshot.delete(this.key);
    this.#contendedAt = sent;
    await this.#retry(calls);
  }

  /**
   * Sends the identical transaction until the result is definite, or nobody waits for it. After an
   * ambiguous result, "not now" tells nothing about the sending before it.
   */
  async #commit(writes: readonly Write[], calls: readonly Pending[]): Promise<CommitResult> {
    const { store: items, retries } = this.#context;
    const token = randomUUID();
    const limit = Math.max(...calls.map((pending) => pending.limit));
    let isAmbiguous = false;
    for (;;) {
      const result = await items.commit(writes, token);
      isAmbiguous ||= result.kind === "unknown";
      if (!isAmbiguous || result.kind === "committed" || result.kind === "failed") return result;
      this.#failure = "STORE_UNAVAILABLE";
      await retries.wait(this.#retries++);
      if (performance.now() > limit) return { kind: "unknown" };
    }
  }

  /** After a version conflict: calls go back, and wait a jitter of about one commit. */
  async #retry(calls: readonly Pending[]): Promise<void> {
    this.#failure = "CONTENDED";
    this.#calls.unshift(...calls);
    await this.#pause();
  }

  /** After a request that was throttled or not answered: calls go back and wait ever longer. */
  async #backOff(calls: readonly Pending[]): Promise<void> {
    this.#failure = "STORE_UNAVAILABLE";
    this.#calls.unshift(...calls);
    await this.#context.retries.wait(this.#retries++);
  }

  #recovered(): void {
    if (this.#retries > 0) this.#context.retries.succeeded();
    this.#retries = 0;
  }

  /** Does not grow: who waits longer than others on a contended key never wins. */
  async #pause(): Promise<void> {
    await sleep(2 * this.#context.commitMs * this.#context.random());
  }

  async #read(refs: readonly Ref[]): Promise<void> {
    if (refs.length === 0) return;
    const at = performance.now();
    this.#remember(refs, await this.#awaiting(this.#context.store.read(refs)), at);
  }

  /** Reads records at one moment; false when one of them is in a transaction. */
  async #readAtomically(refs: readonly Ref[]): Promise<boolean> {
    const at = performance.now();
    const loaded = await this.#awaiting(this.#context.store.readAtomically(refs));
    if (!loaded) {
      this.#contendedAt = at;
      return false;
    }
    this.#validated = { records: new Set(this.#remember(refs, loaded, at)), at };
    return true;
  }

  /** Puts what was read into the snapshot. */
  #remember(refs: readonly Ref[], loaded: readonly Loaded[], at: number): CachedRecord[] {
    const records = refs.map((ref, i) => ({ ...(loaded[i] as Loaded), ref, at }));
    for (const record of records) this.#snapshot.set(nameOf(record.ref), record);
    return records;
  }

  /** Notes for how long the store owes an answer. */
  async #awaiting<T>(answer: Promise<T>): Promise<T> {
    this.#requestedAt = performance.now();
    try {
      return await answer;
    } finally {
      this.#requestedAt = undefined;
    }
  }
}

const distinct = (refs: readonly Ref[]): Ref[] => [
  ...new Map(refs.map((ref) => [nameOf(ref), ref])).values(),
];

function deliver({ outcomes }: Batch): void {
  for (const outcome of outcomes) outcome.deliver();
}

function unavailable(): DomainError {
  return new DomainError(
    "STORE_UNAVAILABLE",
    "the store gave no answer; the same call may safely be sent again",
  );
}
