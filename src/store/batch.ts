import type { Call, Kind, Now, Records, Ref, View } from "../app/ports.ts";
import { type Items, type Loaded, nameOf, type Write } from "./items.ts";

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
}

/** Calls decided one after another over one view. */
export interface Batch {
  readonly outcomes: readonly Outcome[];
  readonly writes: readonly Write[];
  /** Calls that did not fit any more. */
  readonly left: readonly Pending[];
}

/**
 * Decides `calls` one after another over `base`: each sees what the ones ahead have put. Stops in
 * front of the call that would take the transaction over the store's limits.
 */
export function decide(base: Base, calls: readonly Pending[], now: Now, items: Items): Batch {
  const puts = new Map<string, Write>();
  const outcomes: Outcome[] = [];
  let bytes = 0;
  for (const [i, pending] of calls.entries()) {
    const { outcome, own } = decideOne(base, puts, pending, now);
    const added = [...own].filter(([name]) => !puts.has(name));
    const size = added.reduce((sum, [, { ref }]) => sum + items.maxBytes(ref.kind), bytes);
    if (puts.size + added.length > items.limits.writes || size > items.limits.bytes) {
      if (i > 0) return { outcomes, writes: [...puts.values()], left: calls.slice(i) };
      const tell = () => pending.reject(new Error("one call exceeds what a transaction holds"));
      outcomes.push({ ...outcome, tell, writes: false });
      continue;
    }
    bytes = size;
    for (const [name, write] of own) puts.set(name, write);
    outcomes.push(outcome);
  }
  return { outcomes, writes: [...puts.values()], left: [] };
}

function decideOne(
  base: Base,
  ahead: ReadonlyMap<string, Write>,
  pending: Pending,
  now: Now,
): { outcome: Outcome; own: Map<string, Write> } {
  const own = new Map<string, Write>();
  const touched = new Map<string, boolean>();
  const declared = new Set([...pending.call.reads, ...pending.call.absent].map(nameOf));
  const known = (ref: Ref): Known => {
    const name = nameOf(ref);
    touched.set(name, ahead.has(name));
    const found = base.get(name);
    if (found) return found;
    const unread: Known = { ref, value: undefined, version: 0, at: Number.NEGATIVE_INFINITY };
    base.set(name, unread);
    return unread;
  };
  const view: View = {
    get<K extends Kind>(ref: Ref<K>) {
      const loaded = known(ref);
      const name = nameOf(ref);
      const write = own.get(name) ?? ahead.get(name);
      return (write ?? loaded).value as Records[K] | undefined;
    },
    version(ref) {
      const { version } = known(ref);
      const name = nameOf(ref);
      return own.has(name) || ahead.has(name) ? version + 1 : version;
    },
    put(ref, value) {
      const { version } = known(ref);
      const name = nameOf(ref);
      own.set(name, { ref, value, version: declared.has(name) ? version : 0 });
    },
  };
  try {
    const result = pending.call.decide(view, now);
    const tell = () => pending.resolve(result);
    return { outcome: { pending, tell, touched, writes: own.size > 0 }, own };
  } catch (error) {
    own.clear();
    const tell = () => pending.reject(error);
    return { outcome: { pending, tell, touched, writes: false }, own };
  }
}

/**
 * What has to be read before the outcomes may be told, in the order of reading. A call that writes
 * is proven by its transaction, and so is what it saw of the calls ahead. One that writes nothing,
 * a refusal above all, is proven by a strongly consistent read made since it came in, and of what
 * it takes as absent (its own event id) not before the rest: otherwise the retry of a use that
 * emptied the account would hear "too little" instead of "done".
 */
export function unproven(base: Base, outcomes: readonly Outcome[]): [first: Ref[], then: Ref[]] {
  const first = new Map<string, Ref>();
  const then = new Map<string, Ref>();
  for (const { pending, touched, writes } of outcomes) {
    if (writes) continue;
    const absent = new Set(pending.call.absent.map(nameOf));
    let { start } = pending;
    for (const [name, ahead] of touched) {
      if (absent.has(name)) continue;
      const { ref, at } = base.get(name) as Known;
      if (at < pending.start && !ahead) first.set(name, ref);
      start = Math.max(start, at);
    }
    for (const [name, ahead] of touched) {
      if (!absent.has(name) || ahead) continue;
      const { ref, at, value } = base.get(name) as Known;
      if (at < (value === undefined ? start : pending.start)) then.set(name, ref);
    }
  }
  return [[...first.values()], [...then.values()]];
}
