import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Call, Clock, Engine, Ref } from "../app/ports.ts";
import { DomainError, type Reason } from "../domain/errors.ts";
import { type Base, type Batch, decide, type Pending, unproven } from "./batch.ts";
import { type CommitResult, type Items, nameOf, type Write } from "./items.ts";

/** A call that has not won after this long is given up. */
const patienceMs = 5_000;

/** How long what this process committed may serve the next batch of the same key. */
const cacheMs = 1_000;

/** The calls on one key, of which one batch at a time is in flight. */
interface Group {
  readonly key: string;
  queue: Pending[];
  running: boolean;
  base: Base;
  /** Why the calls at the head have not been served yet. */
  failure: Reason;
  /** True while others are winning races on this key. */
  contended: boolean;
  idleSince: number;
}

/** What the engine stands on. `random` is in [0, 1). */
export interface EngineDeps {
  readonly items: Items;
  readonly clock: Clock;
  readonly random?: () => number;
}

/**
 * The commit engine (see `Engine`). Calls in one process that wait for the same key are folded into
 * one transaction; state that it committed is kept for a second; lost races and lost answers are
 * settled here, so that nobody above ever sees one.
 */
export class CommitEngine implements Engine {
  readonly #items: Items;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #groups = new Map<string, Group>();
  /** A moving average of what a commit takes, in milliseconds: the unit of waiting. */
  #commitMs = 10;

  constructor({ items, clock, random = Math.random }: EngineDeps) {
    this.#items = items;
    this.#clock = clock;
    this.#random = random;
  }

  run<R>(call: Call<R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const start = performance.now();
      const limit = Math.min(call.deadline ?? Number.POSITIVE_INFINITY, start + patienceMs);
      const pending: Pending = {
        call,
        start,
        limit,
        tried: false,
        resolve: resolve as (value: unknown) => void,
        reject,
      };
      const group = this.#groupOf(nameOf(call.key));
      group.queue.push(pending);
      if (!group.running) void this.#work(group);
    });
  }

  #groupOf(key: string): Group {
    const found = this.#groups.get(key);
    if (found) return found;
    const group: Group = {
      key,
      queue: [],
      running: false,
      base: new Map(),
      failure: "CONTENDED",
      contended: false,
      idleSince: 0,
    };
    this.#groups.set(key, group);
    return group;
  }

  async #work(group: Group): Promise<void> {
    group.running = true;
    while (group.queue.length > 0) {
      const calls = this.#admit(group);
      try {
        if (calls.length > 0) await this.#attempt(group, calls);
      } catch (error) {
        group.base.clear();
        const queued = new Set(group.queue);
        const hit = calls.filter((pending) => !queued.has(pending));
        if (error instanceof DomainError && error.reason === "STORE_UNAVAILABLE") {
          await this.#again(group, hit, error.reason);
        } else {
          for (const { reject } of hit) reject(error);
        }
      }
    }
    group.running = false;
    this.#retire(group);
  }

  /** Takes what waits, but drops those who have waited too long. */
  #admit(group: Group): Pending[] {
    const now = performance.now();
    const admitted: Pending[] = [];
    for (const pending of group.queue) {
      if (pending.limit > now) admitted.push(pending);
      else pending.reject(tooLate(pending, group.failure, now));
    }
    group.queue = [];
    for (const [name, { at }] of group.base) if (at < now - cacheMs) group.base.delete(name);
    return admitted;
  }

  /** Decides and commits one batch; calls that could not be served go back to the queue's head. */
  async #attempt(group: Group, calls: Pending[]): Promise<void> {
    await this.#load(
      group.base,
      calls.flatMap(({ call }) => call.reads).filter(unknownTo(group.base)),
    );
    let batch: Batch;
    for (;;) {
      batch = decide(group.base, calls, await this.#clock.now(), this.#items);
      const [first, then] = unproven(group.base, batch.outcomes);
      if (first.length === 0 && then.length === 0) break;
      await this.#load(group.base, first);
      await this.#load(group.base, then);
    }
    group.queue.unshift(...batch.left);
    const served = batch.outcomes.map(({ pending }) => pending);
    for (const pending of served) pending.tried = true;
    if (batch.writes.length === 0) return tell(batch);

    const sent = performance.now();
    const result = await this.#commit(batch.writes, served);
    switch (result.kind) {
      case "committed":
        return this.#committed(group, batch, sent);
      case "failed":
        return this.#failed(group, served, result.found, sent);
      case "conflict":
        group.contended = true;
        group.base.clear();
        return this.#again(group, served, "CONTENDED");
      case "throttled":
        return this.#again(group, served, "STORE_UNAVAILABLE");
      case "unknown":
        group.base.clear();
        for (const { reject } of served) reject(unavailable());
    }
  }

  async #committed(group: Group, batch: Batch, sent: number): Promise<void> {
    this.#commitMs += (Math.min(performance.now() - sent, 200) - this.#commitMs) / 16;
    const shared = new Set(batch.outcomes.flatMap(({ pending }) => pending.call.reads.map(nameOf)));
    group.base.clear();
    for (const { ref, value, version } of batch.writes) {
      const name = nameOf(ref);
      if (shared.has(name)) group.base.set(name, { ref, value, version: version + 1, at: sent });
    }
    tell(batch);
    if (!group.contended) return;
    // Others wait for this key, too: let one of them have the next turn.
    group.contended = false;
    group.base.clear();
    if (group.queue.length > 0) await sleep(this.#commitMs);
  }

  /** What was found instead is all that the next decision needs. */
  async #failed(
    group: Group,
    calls: readonly Pending[],
    found: Extract<CommitResult, { kind: "failed" }>["found"],
    sent: number,
  ): Promise<void> {
    const shared = new Set(calls.flatMap(({ call }) => call.reads.map(nameOf)));
    let lostRace = false;
    for (const [ref, loaded] of found) {
      group.base.set(nameOf(ref), { ...loaded, ref, at: sent });
      lostRace ||= shared.has(nameOf(ref));
    }
    if (!lostRace) {
      group.queue.unshift(...calls);
      return;
    }
    group.contended = true;
    await this.#again(group, calls, "CONTENDED");
  }

  /** Puts calls back and waits for about one commit: no longer, however often it was lost. */
  async #again(group: Group, calls: readonly Pending[], failure: Reason): Promise<void> {
    group.failure = failure;
    group.queue.unshift(...calls);
    await sleep(2 * this.#commitMs * this.#random());
  }

  /** Sends the identical transaction until the answer is definite, or nobody waits for it. */
  async #commit(writes: readonly Write[], calls: readonly Pending[]) {
    const token = randomUUID();
    const limit = Math.max(...calls.map((pending) => pending.limit));
    for (;;) {
      const result = await this.#items.commit(writes, token);
      if (result.kind !== "unknown" || performance.now() > limit) return result;
      await sleep(2 * this.#commitMs * this.#random());
    }
  }

  async #load(base: Base, refs: readonly Ref[]): Promise<void> {
    if (refs.length === 0) return;
    const distinct = [...new Map(refs.map((ref) => [nameOf(ref), ref])).entries()];
    const at = performance.now();
    const loaded = await this.#items.read(distinct.map(([, ref]) => ref));
    for (const [i, [name, ref]] of distinct.entries()) {
      const { value, version } = loaded[i] as (typeof loaded)[number];
      base.set(name, { ref, value, version, at });
    }
  }

  /** Keeps an idle group for as long as its cache is good. */
  #retire(group: Group): void {
    const now = performance.now();
    group.idleSince = now;
    this.#groups.delete(group.key);
    this.#groups.set(group.key, group);
    for (const [key, other] of this.#groups) {
      if (other.running) continue;
      if (other.idleSince > now - cacheMs) break;
      this.#groups.delete(key);
    }
  }
}

const unknownTo = (base: Base) => (ref: Ref) => !base.has(nameOf(ref));

function tell({ outcomes }: Batch): void {
  for (const outcome of outcomes) outcome.tell();
}

function tooLate({ call, tried }: Pending, failure: Reason, now: number): DomainError {
  if (!tried && call.deadline !== undefined && call.deadline <= now) {
    return new DomainError("DEADLINE", "the deadline passed before the call could be served");
  }
  if (failure === "STORE_UNAVAILABLE") return unavailable();
  return new DomainError("CONTENDED", "others kept changing the same records; try again");
}

function unavailable(): DomainError {
  return new DomainError(
    "STORE_UNAVAILABLE",
    "the store gave no answer; the same call may safely be sent again",
  );
}
