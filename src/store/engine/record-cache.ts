/** The records that one queue has read or committed, and which of them were read together. */
import type { Kind, Records, Ref } from "../../app/ports/records.ts";
import type { Batch, CachedRecord, Outcome, Pending, Snapshot } from "./batch.ts";
import { type ItemStore, type Loaded, nameOf } from "./item-store.ts";
import { toValidate, type Validated } from "./read-validation.ts";

/** How long a record may serve the batches of its key. */
const cacheMs = 1_000;

const nothingValidated: Validated = { records: new Set(), at: Number.NEGATIVE_INFINITY };

export class RecordCache {
  readonly #store: ItemStore;
  readonly #records: Snapshot = new Map();
  #validated = nothingValidated;

  constructor(store: ItemStore) {
    this.#store = store;
  }

  /** What the next batch is decided on. */
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
    const shared = new Set(outcomes.flatMap(({ pending }) => namesOf(pending.request.readSet)));
    this.#records.clear();
    for (const { ref, op, value, next } of writes) {
      const name = nameOf(ref);
      if (op === "check" || !shared.has(name)) continue;
      this.#records.set(name, { ref, value, version: next, at });
    }
  }

  /**
   * After failed conditions: keeps the records as they were found. A record that no call has named,
   * which a decision put as a new one, exists only when all else is out of date, too. Returns
   * whether all that was found are records that calls expected to be absent, as replays find them.
   */
  keepFound(calls: readonly Pending[], found: ReadonlyMap<Ref, Loaded>, at: number): boolean {
    const absent = new Set(calls.flatMap(({ request }) => namesOf(request.expectAbsent)));
    const shared = new Set(calls.flatMap(({ request }) => namesOf(request.readSet)));
    const isNamed = (name: string) => shared.has(name) || absent.has(name);
    const names = namesOf([...found.keys()]);
    if (!names.some(isNamed)) this.#records.clear();
    for (const [ref, loaded] of found) {
      const name = nameOf(ref);
      if (isNamed(name)) this.#records.set(name, { ...loaded, ref, at });
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

  /** What has to be read together before these outcomes may be delivered. */
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
