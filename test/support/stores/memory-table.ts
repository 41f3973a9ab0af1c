/** The records of the store in memory, and transactions on them with DynamoDB's isolation. */
import type { AccountName, RemoveSnapshot } from "../../../src/app/ports/points.ts";
import { entryRef, type Kind, type Records, type Ref } from "../../../src/app/ports/records.ts";
import type { LedgerEntry } from "../../../src/domain/ledger.ts";
import { pack } from "../../../src/store/dynamodb/ledger-items.ts";
import { isPlain } from "../../../src/store/dynamodb/plain-writes.ts";
import {
  type CommitResult,
  type Loaded,
  nameOf,
  type Write,
} from "../../../src/store/engine/item-store.ts";
import { firstVersion } from "./first-version.ts";
import { frozenCopy, type Stored } from "./memory-pages.ts";

/**
 * Called before an item of a transaction is applied (for packed entries with the first one), and
 * before a plain read returns a record. Each item waits by itself.
 */
export type BeforeItem = (op: "apply" | "read", ref: Ref) => void | Promise<void>;

/** The result of a transaction, and a promise of its items if they are applied later. */
export interface Committed {
  readonly result: CommitResult;
  readonly applied?: Promise<void>;
}

/** A transaction that was accepted with its token. */
interface Accepted {
  readonly text: string;
  isApplied: boolean;
}

export interface Table {
  readonly records: Map<string, Stored>;
  load(ref: Ref): Loaded;
  /** Loads each record at its own moment. */
  loadEach(refs: readonly Ref[]): readonly Loaded[] | Promise<readonly Loaded[]>;
  /** Loads records at one moment; undefined while a transaction holds one of them. */
  loadAtomically(refs: readonly Ref[]): readonly Loaded[] | undefined;
  /** Keeps the values as they are: nobody may change them any more. */
  commit(writes: readonly Write[], token: string): Committed;
  /** Sets a record without regard to conditions and locks. */
  force<K extends Kind>(ref: Ref<K>, value: Records[K] | undefined): void;
  readonly removeSnapshot: RemoveSnapshot;
  dump(): Record<string, Loaded>;
}

/**
 * A transaction checks the conditions of all its items at once and locks them. Then each item is
 * applied and unlocked by itself, so that a plain read of several records may see a part of it.
 * Without `beforeItem` all of this is one step.
 */
export function createTable(beforeItem: () => BeforeItem | undefined): Table {
  const records = new Map<string, Stored>();
  const locked = new Set<string>();
  const tokens = new Map<string, Accepted>();

  const isLocked = (ref: Ref) => locked.has(nameOf(ref));

  const load = (ref: Ref): Loaded => {
    const found = records.get(nameOf(ref));
    if (!found) return { value: undefined, version: 0 };
    return { value: found.value, version: found.version };
  };

  function loadEach(refs: readonly Ref[]): readonly Loaded[] | Promise<readonly Loaded[]> {
    const wait = beforeItem();
    if (!wait) return refs.map(load);
    const one = async (ref: Ref) => {
      await wait("read", ref);
      return load(ref);
    };
    return Promise.all(refs.map(one));
  }

  const loadAtomically = (refs: readonly Ref[]) =>
    refs.some(isLocked) ? undefined : refs.map(load);

  /** A plain write is not known by its token, but a creation by what it has written. */
  function isForgotten(writes: readonly Write[]): boolean {
    const [{ ref, op, next }] = writes as [Write];
    return isPlain(pack(writes)) && (op === "delete" || load(ref).version !== next);
  }

  function commit(writes: readonly Write[], token: string): Committed {
    const text = JSON.stringify(writes);
    const known = isForgotten(writes) ? undefined : tokens.get(token);
    if (known && known.text !== text) throw invalid("IdempotentParameterMismatchException");
    // DynamoDB answers TransactionInProgress until the first one with this token is applied.
    if (known) return { result: { kind: known.isApplied ? "committed" : "unknown" } };
    const free = writes.filter(({ ref }) => !isLocked(ref));
    const failed = free.filter(({ ref, version }) => load(ref).version !== version);
    if (failed.length > 0) {
      return {
        result: { kind: "failed", found: new Map(failed.map(({ ref }) => [ref, load(ref)])) },
      };
    }
    if (free.length < writes.length) return { result: { kind: "conflict" } };
    const accepted = { text, isApplied: false };
    tokens.set(token, accepted);
    return { result: { kind: "committed" }, ...applyAll(writes, accepted) };
  }

  function applyAll(writes: readonly Write[], accepted: Accepted): { applied?: Promise<void> } {
    const wait = beforeItem();
    if (!wait) {
      apply(writes);
      accepted.isApplied = true;
      return {};
    }
    for (const { ref } of writes) locked.add(nameOf(ref));
    const items = pack(writes).map(async (item) => {
      await wait("apply", (item[0] as Write).ref);
      apply(item);
      for (const { ref } of item) locked.delete(nameOf(ref));
    });
    const applied = Promise.all(items).then(() => {
      accepted.isApplied = true;
    });
    return { applied };
  }

  function apply(writes: readonly Write[]): void {
    for (const { ref, op, value, next } of writes) {
      if (op === "delete") records.delete(nameOf(ref));
      if (op !== "put") continue;
      records.set(nameOf(ref), { ref, value: value as Records[Kind], version: next });
    }
  }

  function force<K extends Kind>(ref: Ref<K>, value: Records[K] | undefined): void {
    const { version } = load(ref);
    if (value === undefined) records.delete(nameOf(ref));
    else {
      const next = version > 0 ? version + 1 : firstVersion(ref.kind, value);
      records.set(nameOf(ref), { ref, value: frozenCopy(value), version: next });
    }
  }

  async function removeSnapshot({ programId, userId }: AccountName, number: number): Promise<void> {
    const name = nameOf(entryRef(programId, userId, number));
    const found = records.get(name);
    if (!found) return;
    const { snapshot: _, ...entry } = found.value as LedgerEntry;
    records.set(name, { ...found, value: entry });
  }

  function dump(): Record<string, Loaded> {
    const names = [...records.keys()].sort();
    return Object.fromEntries(names.map((name) => [name, load((records.get(name) as Stored).ref)]));
  }

  return { records, load, loadEach, loadAtomically, commit, force, removeSnapshot, dump };
}

/** The error for a request that is a mistake of the program. */
export function invalid(message: string): Error {
  const error = new Error(message);
  error.name = "ValidationException";
  return error;
}
