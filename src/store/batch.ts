import type { Call, Kind, MembersQuery, Now, Records, Ref, View } from "../app/ports.ts";
import type { Members } from "../domain/notification.ts";
import { firstVersion, type Items, type Loaded, nameOf, type Write } from "./items.ts";

/** What is known of a record, and since when. */
export interface Known extends Loaded {
  readonly ref: Ref;
  /**
   * When it was known to be so, on the clock of `performance.now()`: the start of the read or of
   * the transaction that showed it. Minus infinity for what is only taken to be absent.
   */
  readonly at: number;
}

/** The records that a batch starts from, by name. */
export type Base = Map<string, Known>;

/** What was asked of the members of groups since the records were read, by the question. */
export type Answers = Map<string, Answer>;

export interface Answer {
  readonly members: Members;
  /** When it was there, on the clock of `performance.now()`. */
  readonly at: number;
}

/** A call that waits for its answer. */
export interface Pending {
  readonly call: Call<unknown>;
  /** When it came in and when it stops waiting, on the clock of `performance.now()`. */
  readonly start: number;
  readonly limit: number;
  /** True once it has been part of a batch. */
  tried: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** What one call was decided to be, to be told once the batch has committed. */
export interface Outcome {
  readonly pending: Pending;
  readonly tell: () => void;
  /** What it looked at; true for what calls ahead have put, which the transaction proves. */
  readonly touched: ReadonlyMap<string, boolean>;
  /** Whether it puts anything. */
  readonly writes: boolean;
  /** If it does not: since when what it looked at has to be known, to prove it. */
  readonly since: number;
}

/** Calls decided one after another over one view. */
export interface Batch {
  readonly outcomes: readonly Outcome[];
  readonly writes: readonly Write[];
  /** Calls that did not fit any more, or have to go first in the next one. */
  readonly left: readonly Pending[];
  /** What the first call asks; nothing can be decided before it is answered. */
  readonly question?: MembersQuery;
}

/** Thrown out of a decision that asks what is not known yet, and caught below. */
class Question extends Error {
  readonly query: MembersQuery;

  constructor(query: MembersQuery) {
    super("a decision has to wait for an answer");
    this.query = query;
  }
}

/**
 * Decides `calls` one after another over `base`: each sees what the ones ahead have put. Stops in
 * front of the call that would take the transaction over the store's limits.
 */
export function decide(
  base: Base,
  answers: Answers,
  calls: readonly Pending[],
  now: Now,
  items: Items,
): Batch {
  const writes = new Map<string, Write>();
  const outcomes: Outcome[] = [];
  let bytes = 0;
  const stopAt = (i: number) => ({
    outcomes,
    writes: [...writes.values()],
    left: calls.slice(i),
  });
  for (const [i, pending] of calls.entries()) {
    const decided = decideOne(base, answers, writes, pending, now);
    if (decided instanceof Question) {
      return writes.size > 0 ? stopAt(i) : { ...stopAt(i), question: decided.query };
    }
    const { outcome, own } = decided;
    const added = [...own].filter(([name]) => !writes.has(name));
    const size = added.reduce((sum, [, { ref }]) => sum + items.maxBytes(ref.kind), bytes);
    if (writes.size + added.length > items.limits.writes || size > items.limits.bytes) {
      if (i > 0) return stopAt(i);
      const tell = () => pending.reject(new Error("one call exceeds what a transaction holds"));
      outcomes.push({ ...outcome, tell, writes: false });
      continue;
    }
    bytes = size;
    for (const [name, write] of own) writes.set(name, write);
    outcomes.push(outcome);
  }
  return stopAt(calls.length);
}

interface Decided {
  readonly outcome: Outcome;
  /** What the call writes, and checks for what it has only looked at. */
  readonly own: ReadonlyMap<string, Write>;
}

function decideOne(
  base: Base,
  answers: Answers,
  ahead: ReadonlyMap<string, Write>,
  pending: Pending,
  now: Now,
): Decided | Question {
  const own = new Map<string, Write>();
  const touched = new Map<string, boolean>();
  let since = pending.start;
  const declared = new Set([...pending.call.reads, ...pending.call.absent].map(nameOf));
  const known = (ref: Ref): Known => {
    const name = nameOf(ref);
    touched.set(name, changedAt(ahead, name) !== undefined);
    const found = base.get(name);
    if (found) return found;
    const unread: Known = { ref, value: undefined, version: 0, at: Number.NEGATIVE_INFINITY };
    base.set(name, unread);
    return unread;
  };
  const loadedVersion = (ref: Ref): number => {
    const { version } = known(ref);
    return declared.has(nameOf(ref)) ? version : 0;
  };
  const view: View = {
    get<K extends Kind>(ref: Ref<K>) {
      const loaded = known(ref);
      const name = nameOf(ref);
      const changed = own.get(name) ?? changedAt(ahead, name);
      return (changed ?? loaded).value as Records[K] | undefined;
    },
    version(ref) {
      const { version } = known(ref);
      const name = nameOf(ref);
      return (own.get(name) ?? changedAt(ahead, name))?.next ?? version;
    },
    put(ref, value) {
      const version = loadedVersion(ref);
      const next = version > 0 ? version + 1 : firstVersion(ref.kind, value);
      own.set(nameOf(ref), { ref, op: "put", value, version, next });
    },
    delete(ref) {
      const version = loadedVersion(ref);
      own.set(nameOf(ref), { ref, op: "delete", value: undefined, version, next: 0 });
    },
    members(query) {
      const answer = ahead.size === 0 && answers.get(questionOf(query));
      if (!answer) throw new Question(query);
      since = Math.max(since, answer.at);
      return answer.members;
    },
  };
  try {
    const result = pending.call.decide(view, now);
    const tell = () => pending.resolve(result);
    const outcome = { pending, tell, touched, writes: own.size > 0, since };
    if (outcome.writes) check(base, touched, own);
    return { outcome, own };
  } catch (error) {
    if (error instanceof Question) return error;
    own.clear();
    const tell = () => pending.reject(error);
    return { outcome: { pending, tell, touched, writes: false, since }, own };
  }
}

/** What a question is remembered by. */
export const questionOf = (query: MembersQuery): string => JSON.stringify(query);

function changedAt(ahead: ReadonlyMap<string, Write>, name: string): Write | undefined {
  const write = ahead.get(name);
  return write?.op === "check" ? undefined : write;
}

/** Adds a check for all that was looked at and neither the call nor one ahead writes. */
function check(base: Base, touched: Outcome["touched"], own: Map<string, Write>): void {
  for (const [name, isAhead] of touched) {
    if (isAhead || own.has(name)) continue;
    const { ref, version } = base.get(name) as Known;
    own.set(name, { ref, op: "check", value: undefined, version, next: version });
  }
}

/**
 * What has to be read before the outcomes may be told, in the order of reading. A call that writes
 * is proven by its transaction, and so is what it saw of the calls ahead. One that writes nothing,
 * a refusal above all, is proven by one strongly consistent read made since it came in (of two, the
 * first may tell of a freeze and the second of a use after it); where one call needs that, all of
 * them share it, or two calls would go on making each other's part of it older. What a call takes
 * as absent (its own event id) is read not before the rest: otherwise the retry of a use that
 * emptied the account would hear "too little" instead of "done". What it was told of members holds
 * if the records are still the same when they are read again.
 */
export function unproven(base: Base, outcomes: readonly Outcome[]): [first: Ref[], then: Ref[]] {
  const first = new Map<string, Ref>();
  const then = new Map<string, Ref>();
  let isStale = false;
  for (const { pending, touched, writes, since } of outcomes) {
    if (writes) continue;
    const absent = new Set(pending.call.absent.map(nameOf));
    const reads = [...touched].filter(([name]) => !absent.has(name));
    const known = reads.map(([name, ahead]) => ({ ...(base.get(name) as Known), name, ahead }));
    const start = Math.max(since, ...known.map(({ at }) => at));
    for (const { ref, name, at, ahead } of known) {
      if (ahead) continue;
      first.set(name, ref);
      isStale ||= at < start;
    }
    for (const [name, ahead] of touched) {
      if (!absent.has(name) || ahead) continue;
      const { ref, at, value } = base.get(name) as Known;
      if (at < (value === undefined ? start : since)) then.set(name, ref);
    }
  }
  return [isStale ? [...first.values()] : [], [...then.values()]];
}
