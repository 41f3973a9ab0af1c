import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Call, Clock, Engine, Ref } from "../app/ports.ts";
import { DomainError, type Reason } from "../domain/errors.ts";
import {
  type Answers,
  type Base,
  type Batch,
  decide,
  type Pending,
  questionOf,
  unproven,
} from "./batch.ts";
import { type CommitResult, type Items, nameOf, type Write } from "./items.ts";

/** A call that has not won after this long is given up. */
const patienceMs = 5_000;

/** A store that has not answered for this long is called silent. */
const silenceMs = 500;

/** How long what this process committed may serve the next batch of the same key. */
const cacheMs = 1_000;

/** How long a key counts as shared after another process was met on it. */
const sharedMs = 3_000;

/** How long a key is served without a gap in which another process could be met. */
const gaplessMs = 1_000;

/** A queue of more calls than this is shared out between two batches. */
const longQueue = 16;

/** How often in a row a shared key is asked for a gap before a batch goes out without one. */
const gapTries = 8;

/** The calls on one key, of which one batch at a time is in flight. */
interface Group {
  readonly key: string;
  queue: Pending[];
  running: boolean;
  base: Base;
  /** Why the calls at the head have not been served yet. */
  failure: Reason;
  /** How many calls the last batch served. */
  served: number;
  /** Since when the store has owed an answer, if it does. */
  asked: number | undefined;
  /** When another process was last met on this key. */
  metAt: number;
  /** Since when it has been served without a gap. */
  busySince: number;
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
  /** Those at rest, in the order in which they came to it. */
  readonly #idle = new Set<Group>();
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
      const group = this.#groupOf(nameOf(call.key));
      // Whatever the group is waiting for, its callers are not kept beyond their limits.
      const late = () => pending.reject(tooLate(pending, group));
      const timer = setTimeout(late, Math.max(limit - start, 0));
      const pending: Pending = {
        call,
        start,
        limit,
        tried: false,
        resolve(value) {
          clearTimeout(timer);
          resolve(value as R);
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      group.queue.push(pending);
      if (!group.running) void this.#work(group);
    });
  }

  /** How many keys it holds something for. */
  get keyCount(): number {
    return this.#groups.size;
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
      served: 0,
      asked: undefined,
      metAt: Number.NEGATIVE_INFINITY,
      busySince: 0,
      idleSince: 0,
    };
    this.#groups.set(key, group);
    return group;
  }

  async #work(group: Group): Promise<void> {
    group.running = true;
    group.served = 0;
    group.busySince = performance.now();
    this.#idle.delete(group);
    while (group.queue.length > 0) {
      if (isShared(group)) await this.#awaitGap(group);
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

  /**
   * On a shared key, reads the key's record at a moment when nobody is writing it: a read that is
   * refused costs a fraction of a transaction that is. But it disturbs nobody, and who leaves no
   * gaps learns of others only when one of their transactions is in his way: so not for ever.
   */
  async #awaitGap(group: Group): Promise<void> {
    for (let tries = 0; tries < gapTries; tries++) {
      const { key } = (group.queue[0] as Pending).call;
      if (group.base.has(group.key)) return;
      const at = performance.now();
      // What is wrong with the store shows in the batch's own requests.
      const read = this.#items.readFree(key).catch(() => undefined);
      const loaded = await asking(group, read);
      if (loaded) {
        group.base.set(group.key, { ...loaded, ref: key, at });
        return;
      }
      group.metAt = at;
      await this.#pause();
    }
  }

  /**
   * Takes as many as may fit into one batch, but drops those who have waited too long. Of a long
   * queue it takes half, with those counted in who were just answered and are on their way back:
   * otherwise all and few would take turns, and the store would stand still while all are answered
   * (docs/decisions/0012).
   */
  #admit(group: Group): Pending[] {
    const now = performance.now();
    const waiting: Pending[] = [];
    for (const pending of group.queue) {
      if (pending.limit > now) waiting.push(pending);
      else pending.reject(tooLate(pending, group));
    }
    const half = Math.ceil((waiting.length + group.served) / 2);
    const isHalved = waiting.length > longQueue && !isShared(group);
    const { writes } = this.#items.limits;
    const admitted = waiting.splice(0, isHalved ? Math.min(half, writes) : writes);
    group.queue = waiting;
    for (const [name, { at }] of group.base) if (at < now - cacheMs) group.base.delete(name);
    return admitted;
  }

  /** Decides and commits one batch; calls that could not be served go back to the queue's head. */
  async #attempt(group: Group, calls: Pending[]): Promise<void> {
    const reads = calls.flatMap(({ call }) => call.reads);
    const unknown = reads.filter(unknownTo(group.base));
    // Where others are at work, what was read a moment ago does not go with what is read now.
    await this.#load(group, isShared(group) && unknown.length > 0 ? reads : unknown);
    const batch = await this.#decide(group, calls);
    if (!batch) {
      group.metAt = performance.now();
      return this.#again(group, calls, "CONTENDED");
    }
    group.queue.unshift(...batch.left);
    const served = batch.outcomes.map(({ pending }) => pending);
    for (const pending of served) pending.tried = true;
    group.served = served.length;
    if (batch.writes.length === 0) return tell(batch);

    const sent = performance.now();
    const result = await asking(group, this.#commit(group, batch.writes, served));
    switch (result.kind) {
      case "committed":
        return this.#committed(group, batch, sent);
      case "failed":
        return this.#failed(group, served, result.found, sent);
      case "conflict":
        group.metAt = sent;
        group.base.clear();
        return this.#again(group, served, "CONTENDED");
      case "throttled":
        return this.#again(group, served, "STORE_UNAVAILABLE");
      case "unknown":
        group.base.clear();
        for (const { reject } of served) reject(unavailable());
    }
  }

  /**
   * Decides until everything that the decisions stand on is known. Gives up when others change the
   * records around what was asked of members.
   */
  async #decide(group: Group, calls: readonly Pending[]): Promise<Batch | undefined> {
    const answers: Answers = new Map();
    for (;;) {
      const batch = decide(group.base, answers, calls, await this.#clock.now(), this.#items);
      if (batch.question) {
        const members = await asking(group, this.#items.members(batch.question));
        answers.set(questionOf(batch.question), { members, at: performance.now() });
        continue;
      }
      const [first, then] = unproven(group.base, batch.outcomes);
      if (first.length === 0 && then.length === 0) return batch;
      const isChanged = [await this.#load(group, first), await this.#load(group, then)];
      if (answers.size > 0 && isChanged.includes(true)) return undefined;
    }
  }

  async #committed(group: Group, batch: Batch, sent: number): Promise<void> {
    group.failure = "CONTENDED";
    this.#commitMs += (Math.min(performance.now() - sent, 200) - this.#commitMs) / 16;
    const shared = new Set(batch.outcomes.flatMap(({ pending }) => pending.call.reads.map(nameOf)));
    group.base.clear();
    for (const { ref, op, value, next } of batch.writes) {
      const name = nameOf(ref);
      if (op === "check" || !shared.has(name)) continue;
      group.base.set(name, { ref, value, version: next, at: sent });
    }
    // Those who wait go first: the store would stand still while so many answers are written.
    if (group.queue.length > 0) setImmediate(tell, batch);
    else tell(batch);
    const isAlone = !isShared(group);
    if (isAlone && sent < group.busySince + gaplessMs) return;
    // Let another have the next turn: it waits for a jitter, reads and commits, and so do others.
    group.base.clear();
    await sleep(this.#commitMs * (isAlone ? 1 : 3 + 4 * this.#random()));
    group.busySince = performance.now();
  }

  /**
   * What was found instead is all that the next decision needs. A record that nobody has named, a
   * ledger entry, is there only when the state that the batch was decided on is out of date.
   */
  async #failed(
    group: Group,
    calls: readonly Pending[],
    found: Extract<CommitResult, { kind: "failed" }>["found"],
    sent: number,
  ): Promise<void> {
    const own = new Set(calls.flatMap(({ call }) => call.absent.map(nameOf)));
    const shared = new Set(calls.flatMap(({ call }) => call.reads.map(nameOf)));
    const names = [...found.keys()].map(nameOf);
    if (!names.some((name) => shared.has(name) || own.has(name))) group.base.clear();
    for (const [ref, loaded] of found) {
      const name = nameOf(ref);
      if (shared.has(name) || own.has(name)) group.base.set(name, { ...loaded, ref, at: sent });
    }
    if (names.every((name) => own.has(name) && !shared.has(name))) {
      group.queue.unshift(...calls);
      return;
    }
    // Where others are at work, what was found does not last until the next try.
    if (isShared(group)) group.base.delete(group.key);
    group.metAt = sent;
    await this.#again(group, calls, "CONTENDED");
  }

  /** Puts calls back and waits for about one commit: no longer, however often it was lost. */
  async #again(group: Group, calls: readonly Pending[], failure: Reason): Promise<void> {
    group.failure = failure;
    group.queue.unshift(...calls);
    await this.#pause();
  }

  /** A jitter of about one commit. */
  async #pause(): Promise<void> {
    await sleep(2 * this.#commitMs * this.#random());
  }

  /**
   * Sends the identical transaction until the answer is definite, or nobody waits for it. Once an
   * answer was lost, "not now" tells nothing about the sending before it.
   */
  async #commit(
    group: Group,
    writes: readonly Write[],
    calls: readonly Pending[],
  ): Promise<CommitResult> {
    const token = randomUUID();
    const limit = Math.max(...calls.map((pending) => pending.limit));
    let lost = false;
    for (;;) {
      const result = await this.#items.commit(writes, token);
      lost ||= result.kind === "unknown";
      if (!lost || result.kind === "committed" || result.kind === "failed") return result;
      group.failure = "STORE_UNAVAILABLE";
      if (performance.now() > limit) return { kind: "unknown" };
      await this.#pause();
    }
  }

  /** Tells whether any of the records is another than it was known to be. */
  async #load(group: Group, refs: readonly Ref[]): Promise<boolean> {
    if (refs.length === 0) return false;
    const distinct = [...new Map(refs.map((ref) => [nameOf(ref), ref])).entries()];
    const at = performance.now();
    const loaded = await asking(group, this.#items.read(distinct.map(([, ref]) => ref)));
    let isChanged = false;
    for (const [i, [name, ref]] of distinct.entries()) {
      const { value, version } = loaded[i] as (typeof loaded)[number];
      isChanged ||= group.base.get(name)?.version !== version;
      group.base.set(name, { ref, value, version, at });
    }
    return isChanged;
  }

  /** Keeps an idle group for as long as what it knows of its key is of use. */
  #retire(group: Group): void {
    const now = performance.now();
    group.idleSince = now;
    this.#idle.add(group);
    for (const other of this.#idle) {
      if (other.idleSince > now - sharedMs) break;
      this.#idle.delete(other);
      this.#groups.delete(other.key);
    }
  }
}

/** Notes for how long the store owes an answer. */
async function asking<T>(group: Group, answer: Promise<T>): Promise<T> {
  group.asked = performance.now();
  try {
    return await answer;
  } finally {
    group.asked = undefined;
  }
}

const isShared = ({ metAt }: Group) => metAt > performance.now() - sharedMs;

const unknownTo = (base: Base) => (ref: Ref) => !base.has(nameOf(ref));

function tell({ outcomes }: Batch): void {
  for (const outcome of outcomes) outcome.tell();
}

function tooLate({ call, limit, tried }: Pending, { failure, asked }: Group): DomainError {
  if (!tried && call.deadline === limit) {
    return new DomainError("DEADLINE", "the deadline passed before the call could be served");
  }
  const isSilent = asked !== undefined && asked < performance.now() - silenceMs;
  if (isSilent || failure === "STORE_UNAVAILABLE") return unavailable();
  return new DomainError("CONTENDED", "others kept changing the same records; try again");
}

function unavailable(): DomainError {
  return new DomainError(
    "STORE_UNAVAILABLE",
    "the store gave no answer; the same call may safely be sent again",
  );
}
