/** The records that one queue has read or committed, and the validation of what it has read. */
import type { Kind, Records, Ref } from "../ports/records.ts";
import {
  type Batch,
  type CachedRecord,
  type Outcome,
  type Pending,
  readsOf,
  type Snapshot,
} from "./batch.ts";
import { type ItemStore, type Loaded, nameOf } from "./item-store.ts";

/** How long a record may serve the batches of its key. */
const cacheMs = 1_000;

/** The records that one TransactGetItems has read, and when it was sent. */
interface Validated {
  readonly records: ReadonlySet<CachedRecord>;
  readonly at: number;
}

const nothingValidated: Validated = { records: new Set(), at: Number.NEGATIVE_INFINITY };

export class RecordCache {
  readonly #store: ItemStore;
  readonly #records: Snapshot = new Map();
  #validated = nothingValidated;

  constructor(store: ItemStore) {
    this.#store = store;
  }

  /** The records on which the next batch is decided. */
  get snapshot(): Snapshot {
    return this.#records;
  }

  get<K extends Kind>(ref: Ref<K>): Records[K] | undefined {
    return this.#records.get(nameOf(ref))?.value as Records[K] | undefined;
  }

  has(name: string): boolean {
    return this.#records.has(name);
  }

  /**
   * After a commit that was sent at `at`: keeps the records that other calls may need, which are
   * those that a call of the batch has named in its read set.
   */
  keepCommitted({ outcomes, writes }: Batch, at: number): void {
    const shared = new Set(namesOf(readsOf(outcomes.map(({ pending }) => pending))));
    this.#records.clear();
    for (const { ref, op, value, next } of writes) {
      const name = nameOf(ref);
      if (op === "check" || !shared.has(name)) continue;
      this.#records.set(name, { ref, value, version: next, at });
    }
  }

  /**
   * After failed conditions: keeps the records as they were found. A record that was not known,
   * which a decision put as a new one, exists only when all else is out of date, too. Returns
   * whether all that was found are records that calls expected to be absent, as replays find them.
   */
  keepFound(calls: readonly Pending[], found: ReadonlyMap<Ref, Loaded>, at: number): boolean {
    const absent = new Set(calls.flatMap(({ request }) => namesOf(request.expectAbsent)));
    const shared = new Set(namesOf(readsOf(calls)));
    // A decision may have read a record that an earlier call had named, and that is kept since.
    const isKnown = (name: string) =>
      shared.has(name) || absent.has(name) || this.#records.has(name);
    const names = namesOf([...found.keys()]);
    if (!names.some(isKnown)) this.#records.clear();
    for (const [ref, loaded] of found) {
      const name = nameOf(ref);
      if (isKnown(name)) this.#records.set(name, { ...loaded, ref, at });
    }
    return names.every((name) => absent.has(name) && !shared.has(name));
  }

  delete(name: string): void {
    this.#records.delete(name);
  }

  clear(): void {
    this.#records.clear();
  }

  dropExpired(now: number): void {
    for (const [name, { at }] of this.#records) {
      if (at < now - cacheMs) this.#records.delete(name);
    }
  }

  /** Reads records, each at its own moment. */
  async read(refs: readonly Ref[]): Promise<void> {
    if (refs.length === 0) return;
    const at = performance.now();
    this.keep(refs, await this.#store.read(refs), at);
  }

  /** Reads records at one moment; false when a transaction is writing one of them. */
  async readAtomically(refs: readonly Ref[]): Promise<boolean> {
    const at = performance.now();
    const loaded = await this.#store.readAtomically(refs);
    if (!loaded) return false;
    this.#validated = { records: new Set(this.keep(refs, loaded, at)), at };
    return true;
  }

  /** The records that have to be read together before these outcomes may be delivered. */
  toValidate(outcomes: readonly Outcome[]): Ref[] {
    return toValidate(outcomes, this.#records, this.#validated);
  }

  /** The version of a record that was read; 0 for one that is absent. */
  versionOf(ref: Ref): number {
    return this.#records.get(nameOf(ref))?.version ?? 0;
  }

  /** Keeps records that were read at `at`. */
  keep(refs: readonly Ref[], loaded: readonly Loaded[], at: number): CachedRecord[] {
    const records = refs.map((ref, i) => ({ ...(loaded[i] as Loaded), ref, at }));
    for (const record of records) this.#records.set(nameOf(record.ref), record);
    return records;
  }
}

const namesOf = (refs: readonly Ref[]): string[] => refs.map(nameOf);

/**
 * The records that one TransactGetItems has to read before the outcomes may be delivered; empty
 * when the last such read covers them (docs/decisions/0013).
 *
 * A call that writes is validated by the conditions of its transaction. A call that writes
 * nothing, such as a refusal, is valid if all records that it has read had these versions at one
 * moment since the call arrived. Several plain reads do not show one moment: they may see half of a
 * transaction, so that the retry of a use would see the account after the use, but not the event
 * key that makes it a replay. A record that an earlier call of the batch has changed counts as
 * read: the conditions of the transaction show that the version before this change is the latest,
 * but not that the other records were read since. A call that has read a single record needs any
 * read of it since it arrived.
 */
export function toValidate(
  outcomes: readonly Outcome[],
  snapshot: Snapshot,
  { records, at }: Validated,
): Ref[] {
  const withoutWrites = outcomes.filter(({ writes, readSet }) => !writes && readSet.size > 0);
  const isValid = withoutWrites.every(({ pending: { start }, readSet }) => {
    const names = [...readSet.keys()];
    if (names.length === 1) {
      return (snapshot.get(names[0] as string)?.at ?? Number.NEGATIVE_INFINITY) >= start;
    }
    // A failed condition may have replaced a record since: the new one is of another moment.
    return at >= start && names.every((name) => records.has(snapshot.get(name) as CachedRecord));
  });
  if (isValid) return [];
  return [...new Map(withoutWrites.flatMap(({ readSet }) => [...readSet])).values()];
}
