/** The lookups that the calls of one queue have needed, and their results. */
import { isDeepStrictEqual } from "node:util";
import type { Lookup, Reading } from "../ports/engine.ts";
import { inBatches } from "../ports/pages.ts";
import type { Ref } from "../ports/records.ts";
import { distinct, nameOf } from "./item-store.ts";
import type { RecordCache } from "./record-cache.ts";

/** A busy queue forgets the results of earlier calls when it has so many. */
const maxKnown = 1_000;

interface LookupsDeps {
  readonly records: RecordCache;
  /** How many records `readAtomically` reads at most. */
  readonly maxItems: number;
  readonly read: (lookup: Lookup<unknown>) => Promise<Reading<unknown> | undefined>;
  /** Reads records at one moment into `records`; false when transactions keep writing them. */
  readonly readAtomically: (refs: readonly Ref[]) => Promise<boolean>;
}

/** The reading of a lookup, with the name of the lookup. */
interface Named {
  readonly name: string;
  readonly reading: Reading<unknown>;
}

/**
 * Reads lookups, and keeps the results across version conflicts. The name of a lookup and its
 * `holds` decide whether a result is still right, so that a result which took a second is not lost
 * when another record has changed meanwhile.
 */
export class Lookups {
  readonly #deps: LookupsDeps;
  readonly #known = new Map<string, unknown>();

  constructor(deps: LookupsDeps) {
    this.#deps = deps;
  }

  /** The result of a lookup, if it has been read and still holds. */
  find<T>(lookup: Lookup<T>): T | undefined {
    const found = this.#known.get(lookup.name) as T | undefined;
    return found !== undefined && lookup.holds(found) ? found : undefined;
  }

  clear(): void {
    this.#known.clear();
  }

  /** Reads these lookups side by side. False when transactions were in the way of one of them. */
  async read(lookups: readonly Lookup<unknown>[]): Promise<boolean> {
    if (this.#known.size > maxKnown) this.clear();
    const different = new Map(lookups.map((lookup) => [lookup.name, lookup]));
    const all = await Promise.all(
      [...different].map(async ([name, lookup]) => {
        const reading = await this.#deps.read(lookup);
        return reading && { name, reading };
      }),
    );
    const found = all.filter((each) => each !== undefined);
    const isExact = ({ reading }: Named) => reading.unchanged.length === 0;
    for (const named of found) if (isExact(named)) this.#keep(named);
    const isRead = await this.#validate(found.filter((named) => !isExact(named)));
    return isRead && found.length === all.length;
  }

  #keep({ name, reading }: Named): void {
    this.#known.set(name, reading.result);
  }

  /**
   * Keeps the results whose records are unchanged in TransactGetItems, which read as many of all of
   * them as they hold. False when transactions are in the way.
   */
  async #validate(found: readonly Named[]): Promise<boolean> {
    const { maxItems, readAtomically } = this.#deps;
    const refs = found.flatMap(({ reading }) => reading.unchanged.map(({ ref }) => ref));
    // Two lookups may rest on the same record.
    const batches = inBatches(distinct(refs), maxItems);
    const answers = await Promise.all(batches.map((batch) => readAtomically(batch)));
    const read = new Set(batches.flatMap((batch, i) => (answers[i] ? batch.map(nameOf) : [])));
    let isRead = answers.every((answer) => answer);
    for (const named of found) {
      const { unchanged } = named.reading;
      if (!unchanged.every(({ ref }) => read.has(nameOf(ref)))) continue;
      if (this.#areUnchanged(unchanged)) this.#keep(named);
      else isRead = false;
    }
    return isRead;
  }

  #areUnchanged(seen: Reading<unknown>["unchanged"]): boolean {
    return seen.every(({ ref, value }) => isDeepStrictEqual(this.#deps.records.get(ref), value));
  }
}
