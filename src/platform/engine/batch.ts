/** Decides the calls of one batch over one snapshot and collects what their transaction writes. */

import type { Now } from "../ports/clock.ts";
import type { Lookup, Transaction, TransactionRequest } from "../ports/engine.ts";
import type { Kind, Records, Ref } from "../ports/records.ts";
import { runInSpan, type Span, SpanKind, startSpan } from "../ports/tracing.ts";
import { type ItemStore, type Loaded, nameOf, type Write } from "./item-store.ts";

/** A record as it was read or committed. */
export interface CachedRecord extends Loaded {
  readonly ref: Ref;
  /** When the read or the transaction that returned it was sent, by `performance.now()`. */
  readonly at: number;
}

/** The records that a batch starts from, by name. A missing one is taken as absent. */
export type Snapshot = Map<string, CachedRecord>;

/** The results of lookups that hold. */
interface KnownLookups {
  find<T>(lookup: Lookup<T>): T | undefined;
}

/** Thrown by `tx` for what a decision asks for and nobody has read yet. */
class Unread extends Error {
  readonly refs: readonly Ref[];
  readonly lookup: Lookup<unknown> | undefined;

  constructor(refs: readonly Ref[], lookup?: Lookup<unknown>) {
    super("a decision has caught what its transaction threw");
    this.refs = refs;
    this.lookup = lookup;
  }
}

/** The records and the lookup that have to be read before a call can be decided. */
interface Needed extends Pick<Unread, "refs" | "lookup"> {
  readonly pending: Pending;
}

/** A call that waits for its answer. */
export interface Pending {
  readonly request: TransactionRequest<unknown>;
  /** The span that the call was made in, if it is recorded. */
  readonly span: Span | undefined;
  /** When the call arrived and when its caller stops waiting, by `performance.now()`. */
  readonly start: number;
  readonly limit: number;
  /** True once the call has been part of a batch. */
  tried: boolean;
  /** True once the call has its answer or its error. */
  isAnswered: boolean;
  /** True once a batch with the call has failed unexpectedly: its next batch has no other call. */
  alone: boolean;
  /** The records beside its read set that its decisions have asked for. */
  readonly needed: Ref[];
  /** The records that its last decision read, if that decision wrote nothing. */
  readSet: readonly Ref[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The decision of one call. */
export interface Outcome {
  readonly pending: Pending;
  /** Gives the caller its answer. Called only after the batch has committed. */
  readonly deliver: () => void;
  /**
   * The records that the decision read, by name. Empty when earlier calls of the batch have written
   * all of them: the conditions of the transaction validate these.
   */
  readonly readSet: ReadonlyMap<string, Ref>;
  /** Whether the decision writes anything. */
  readonly writes: boolean;
}

/** Calls that were decided one after another over one snapshot. */
export interface Batch {
  readonly outcomes: readonly Outcome[];
  readonly writes: readonly Write[];
  /** Calls that did not fit, or that have to be the first of the next batch. */
  readonly left: readonly Pending[];
  /** The reads that the calls need before their decisions. If any, no call is decided. */
  readonly needed: readonly Needed[];
}

/** The records that calls need before their decisions: the declared ones and those asked for. */
export const readsOf = (calls: readonly Pending[]): Ref[] =>
  calls.flatMap(({ request, needed }) => [...request.readSet, ...needed]);

/**
 * Decides `calls` one after another: each decision reads what the earlier ones have written. Stops
 * before the call with which the transaction, or the read that validates the batch, would exceed
 * the store's limit of items.
 */
export function decide(
  snapshot: Snapshot,
  lookups: KnownLookups,
  calls: readonly Pending[],
  now: Now,
  store: ItemStore,
): Batch {
  const writes = new Map<string, Write>();
  const outcomes: Outcome[] = [];
  const counter = store.countItems();
  const validated = new Set<string>();
  const needed: Needed[] = [];
  const stopAt = (i: number) =>
    needed.length > 0
      ? { outcomes: [], writes: [], left: calls, needed }
      : { outcomes, writes: [...writes.values()], left: calls.slice(i), needed };
  for (const [i, pending] of calls.entries()) {
    const decided = decideOne(snapshot, lookups, writes, pending, now);
    if (decided instanceof Unread) {
      const { refs, lookup } = decided;
      if (lookup && changedBy(writes, nameOf(lookup.source))) return stopAt(i);
      needed.push({ pending, refs, lookup });
      continue;
    }
    // The records of later calls can be read together with those of an earlier one.
    if (needed.length > 0) continue;
    const { outcome, own } = decided;
    let count = 0;
    for (const [name, write] of own) if (!writes.has(name)) count = counter.add(write);
    if (!outcome.writes) for (const name of outcome.readSet.keys()) validated.add(name);
    if (Math.max(count, validated.size) > store.maxItems) {
      if (i > 0) return stopAt(i);
      const deliver = () => pending.reject(new Error("one call exceeds what a transaction holds"));
      outcomes.push({ pending, deliver, readSet: new Map(), writes: false });
      return stopAt(1);
    }
    for (const [name, write] of own) writes.set(name, write);
    outcomes.push(outcome);
  }
  return stopAt(calls.length);
}

interface Decided {
  readonly outcome: Outcome;
  /** The writes of the call, and a check for each record that it has only read. */
  readonly own: ReadonlyMap<string, Write>;
}

function decideOne(
  snapshot: Snapshot,
  lookups: KnownLookups,
  ahead: ReadonlyMap<string, Write>,
  pending: Pending,
  now: Now,
): Decided | Unread {
  const own = new Map<string, Write>();
  const readSet = new Map<string, Ref>();
  const expectAbsent = new Set(pending.request.expectAbsent.map(nameOf));
  const declared = new Set([...pending.request.readSet.map(nameOf), ...expectAbsent]);
  const versionOf = (name: string) => snapshot.get(name)?.version ?? 0;
  const changeOf = (name: string) => own.get(name) ?? changedBy(ahead, name);
  const isRead = (name: string) => snapshot.has(name) || expectAbsent.has(name);
  const current = (ref: Ref): Loaded => {
    const name = nameOf(ref);
    const changed = changeOf(name);
    if (!changed && !isRead(name)) throw new Unread([ref]);
    if (!own.has(name)) readSet.set(name, ref);
    if (changed) return { value: changed.value, version: changed.next };
    return { value: snapshot.get(name)?.value, version: versionOf(name) };
  };
  const toRead = () => {
    const isCovered = [...readSet.keys()].every((name) => changedBy(ahead, name));
    return isCovered ? new Map<string, Ref>() : readSet;
  };
  /** The condition of a write: a record that an earlier call has deleted may be put undeclared. */
  const conditionOf = (name: string) => {
    const earlier = ahead.get(name);
    if (earlier?.op === "delete") return earlier.version;
    return declared.has(name) || readSet.has(name) ? versionOf(name) : 0;
  };
  const tx: Transaction = {
    get: <K extends Kind>(ref: Ref<K>) => current(ref).value as Records[K] | undefined,
    getAll(refs) {
      const unread = refs.filter((ref) => !changeOf(nameOf(ref)) && !isRead(nameOf(ref)));
      if (unread.length > 0) throw new Unread(unread);
      return refs.map((ref) => tx.get(ref));
    },
    recordVersion: (ref) => current(ref).version,
    put(ref, value, firstVersion) {
      const name = nameOf(ref);
      const version = conditionOf(name);
      const replaced = changeOf(name)?.next;
      const next = version > 0 ? version + 1 : (firstVersion ?? (replaced || 1));
      own.set(name, { ref, op: "put", value, version, next });
    },
    delete(ref) {
      const name = nameOf(ref);
      own.set(name, { ref, op: "delete", value: undefined, version: conditionOf(name), next: 0 });
    },
    lookup(lookup) {
      const isChanged = changedBy(ahead, nameOf(lookup.source)) !== undefined;
      const found = isChanged ? undefined : lookups.find(lookup);
      if (found === undefined) throw new Unread([], lookup);
      return found;
    },
  };
  try {
    const result = pending.request.decide(tx, now);
    const deliver = () => pending.resolve(result);
    if (pending.request.call?.validateOnly) own.clear();
    const writes = own.size > 0;
    if (writes) {
      for (const [name, ref] of readSet) {
        if (own.has(name) || changedBy(ahead, name)) continue;
        const version = versionOf(name);
        own.set(name, { ref, op: "check", value: undefined, version, next: version });
      }
    }
    return { outcome: { pending, deliver, readSet: toRead(), writes }, own };
  } catch (error) {
    if (error instanceof Unread) return error;
    const deliver = () => pending.reject(error);
    return { outcome: { pending, deliver, readSet: toRead(), writes: false }, own: new Map() };
  }
}

/** Delivers the answers of a batch. */
export function deliver({ outcomes }: Batch): void {
  for (const outcome of outcomes) outcome.deliver();
}

function changedBy(ahead: ReadonlyMap<string, Write>, name: string): Write | undefined {
  const write = ahead.get(name);
  return write?.op === "check" ? undefined : write;
}

/**
 * Runs an attempt in a span under the first traced call. The span and every call of the batch link
 * to each other, because a span has one parent only. Without a traced call there is no span.
 */
export function traceBatch(calls: readonly Pending[], attempt: () => Promise<void>): Promise<void> {
  const spans = calls.flatMap(({ span }) => span ?? []);
  const [first, ...others] = spans;
  if (!first) return attempt();
  const links = spans.map((span) => ({ context: span.spanContext() }));
  const attributes = { "meguri.batch.calls": calls.length };
  const options = { kind: SpanKind.INTERNAL, links, attributes };
  const batch = startSpan("commit", options, first.spanContext());
  for (const span of others) span.addLink({ context: batch.spanContext() });
  return runInSpan(batch, attempt);
}
