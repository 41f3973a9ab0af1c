/** Distinguishes an outage, which concerns all records of a sweep, from failures of one record. */
import { DomainError } from "../words/errors.ts";
import type { Reason } from "../words/reasons.ts";

/** While the store or the clock is away, refuses or throttles, records fail with these. */
export const storeOutages: ReadonlySet<Reason> = new Set([
  "STORE_UNAVAILABLE",
  "STORE_REFUSES",
  "CLOCK_OFF",
  "THROTTLED",
]);

export const isStoreOutage = (error: unknown): error is DomainError =>
  error instanceof DomainError && storeOutages.has(error.reason);

/** The rules by which failures count as an outage. */
export interface OutageRules<T> {
  /** The reasons of an outage. */
  readonly outages: ReadonlySet<Reason>;
  /** So many keys that fail with such a reason, without a success in between, are an outage. */
  readonly outageAfter: number;
  /** The key that the store throttles, such as an account: its records fail together. */
  keyOf(record: T): string;
}

interface UnconfirmedFailure {
  readonly error: DomainError;
  /** Whether another failure of the record is its own, because others have succeeded meanwhile. */
  readonly isRetried: boolean;
  /** Whether the last failure is its own, unless it turns out to be one of an outage. */
  readonly isFinal: boolean;
}

/**
 * The records that have failed with the reason of an outage. One that fails, although another has
 * succeeded since it failed before, has failed by itself; so has one that is throttled, because the
 * commit engine has tried it several times.
 */
export class UnconfirmedFailures<T> {
  readonly #rules: OutageRules<T>;
  readonly #unconfirmed = new Map<T, UnconfirmedFailure>();

  constructor(rules: OutageRules<T>) {
    this.#rules = rules;
  }

  get size(): number {
    return this.#unconfirmed.size;
  }

  /** Whether the error may be that of an outage. */
  areMadeBy(error: unknown): error is DomainError {
    return error instanceof DomainError && this.#rules.outages.has(error.reason);
  }

  /** Adds a failure. Throws it if it is that of an outage. */
  add(record: T, error: DomainError): void {
    const isRetried = this.#unconfirmed.get(record)?.isRetried ?? false;
    const isFinal = isRetried || error.reason === "THROTTLED";
    this.#unconfirmed.set(record, { error, isRetried: false, isFinal });
    const failed = [...this.#unconfirmed].filter(([, failure]) => !failure.isRetried);
    if (this.#keyCount(failed) >= this.#rules.outageAfter) throw error;
  }

  /**
   * After a record was processed, so that there is no outage. Returns the records that have failed
   * by themselves, and those that are to be processed again.
   */
  succeeded(record: T): { failed: [T, DomainError][]; again: T[] } {
    this.#unconfirmed.delete(record);
    const failed: [T, DomainError][] = [];
    const again: T[] = [];
    for (const [other, failure] of this.#unconfirmed) {
      if (failure.isFinal) {
        this.#unconfirmed.delete(other);
        failed.push([other, failure.error]);
      } else if (!failure.isRetried) {
        this.#unconfirmed.set(other, { ...failure, isRetried: true });
        again.push(other);
      }
    }
    return { failed, again };
  }

  /** Before the end, when no other record is left: returns those that are processed once more. */
  lastChance(): T[] {
    const again: T[] = [];
    for (const [record, failure] of this.#unconfirmed) {
      if (failure.isFinal) continue;
      this.#unconfirmed.set(record, { ...failure, isRetried: true });
      again.push(record);
    }
    return again;
  }

  /**
   * At the end, returns the records that have failed. Throws the error of an outage if two keys or
   * more have failed, or if the clock is off. Throttling is no outage here.
   */
  end(): [T, DomainError][] {
    const left = [...this.#unconfirmed];
    this.#unconfirmed.clear();
    const failed = left.filter(([, { error }]) => error.reason !== "THROTTLED");
    const [first] = failed;
    const isOutage = this.#keyCount(failed) > 1 || first?.[1].error.reason === "CLOCK_OFF";
    if (first && isOutage) throw first[1].error;
    return left.map(([record, { error }]) => [record, error]);
  }

  #keyCount(unconfirmed: readonly (readonly [T, UnconfirmedFailure])[]): number {
    return new Set(unconfirmed.map(([record]) => this.#rules.keyOf(record))).size;
  }
}
